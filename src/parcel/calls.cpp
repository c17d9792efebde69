// Calls of other localities: who waits for which answer, and what is sent.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <typeinfo>
#include <utility>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/stack_trace.hpp"
#include "job/constructors.hpp"
#include "job/state.hpp"
#include "parcel/awaited.hpp"
#include "parcel/layer.hpp"
#include "trace/causes.hpp"
#include "trace/event_file.hpp"
#include "weft/error.hpp"

namespace weft::detail {

// --- Calls that are awaited -----------------------------------------------------------------------

void parcel_layer::await(task_source& home, awaited_call& call, int process,
                         const action_entry& which) {
  static_assert(sizeof(awaited) <= sizeof call.room && std::is_standard_layout_v<awaited_call>);
  share& mine = share_of(home.home());
  if (mine.first_free == no_slot) {
    if (mine.slots.size() == (std::size_t{1} << call_name::index_bits))
      throw error(
          formatted("{} calls of this worker are awaited, which is the limit: wait for some",
                    mine.slots.size()));
    mine.first_free = static_cast<std::uint32_t>(mine.slots.size());
    mine.slots.emplace_back().next_free = no_slot;
  }
  const std::uint32_t index = mine.first_free;
  slot& place = mine.slots[index];
  mine.first_free = place.next_free;
  place.call = &call;
  auto& room = *::new (call.room) awaited;
  room.of = this;
  room.home = &home;
  room.which = &which;
  room.index = index;
  room.process = process;
  room.abandon = [](suspended& self) noexcept {
    auto& given_up = static_cast<awaited&>(self);
    auto* const whole = reinterpret_cast<awaited_call*>(&given_up);  // Whose first member it is.
    slot& left = given_up.of->share_of(given_up.home->home()).slots[given_up.index];
    left.call = nullptr;
    whole->fail(*whole, std::make_exception_ptr(cancelled()));
  };
  room.describe = [](const suspended& self, std::string& text) {
    const auto& called = static_cast<const awaited&>(self);
    text += formatted("waits for the result of {}, called in locality {}", name_of(*called.which),
                      called.process);
  };
  home.suspend(room);
}

// Frees its slot.
awaited_call& parcel_layer::stop_awaiting(awaited_call& call) noexcept {
  awaited& room = room_of(call);
  share& mine = share_of(room.home->home());
  slot& place = mine.slots[room.index];
  place.call = nullptr;
  place.generation = (place.generation + 1) & ((1u << call_name::generation_bits) - 1);
  place.next_free = std::exchange(mine.first_free, room.index);
  room.home->resume(room);
  return call;
}

awaited_call* parcel_layer::find(worker& here, std::uint64_t name, int process) noexcept {
  const call_name asked = call_name::of(name);
  share& mine = share_of(here);
  if (asked.index >= mine.slots.size()) return nullptr;
  const slot& place = mine.slots[asked.index];
  if (place.call == nullptr || place.generation != asked.generation) return nullptr;
  return room_of(*place.call).process == process ? place.call : nullptr;
}

// --- Sending --------------------------------------------------------------------------------------

namespace {

// Completes the parcel: its transmission chunk and its header.
outgoing_parcel finished(parcel_writer& encoded, kept_values* kept, parcel_header header,
                         int process, int port) {
  const std::span<const parcel_chunk> chunks = encoded.chunks();
  if (!chunks.empty()) [[unlikely]] {
    const std::uint64_t word = 0;  // The port's.
    encoded.write(&word, sizeof word);
    for (const parcel_chunk& one : chunks) {
      const std::uint64_t size = one.size;
      encoded.write(&size, sizeof size);
    }
  }
  const std::size_t size = encoded.size() - sizeof header;
  if (size > ~std::uint32_t{0}) [[unlikely]]
    throw error(formatted(
        "a parcel of {} bytes: {} are the most, beside vectors and strings that are large by themselves",
        size, ~std::uint32_t{0}));
  header.size = static_cast<std::uint32_t>(size);
  header.chunk_count = static_cast<std::uint8_t>(chunks.size());
  outgoing_parcel made;
  made.process = process;
  made.port = port;
  made.bytes = encoded.bytes();
  made.chunks = chunks;
  made.kept = kept;
  std::memcpy(made.bytes.data(), &header, sizeof header);
  made.heap = encoded.take_heap();
  return made;
}

struct until_sent {
  kept_values* kept;
  ~until_sent() {
    if (kept != nullptr) kept->free(*kept);
  }
};

std::uint64_t cost_of(const outgoing_parcel& what) noexcept {
  std::uint64_t cost = parcel_overhead_bytes + what.bytes.size();
  for (const parcel_chunk& one : what.chunks) cost += one.size;
  return cost;
}

struct words_of_room final : wait_words {
  int process;
  explicit words_of_room(int to) noexcept : process(to) {}
  [[nodiscard]] std::string text() const override {
    return formatted(
        " to locality {}, until it has begun some of the {} bytes of calls that it has got",
        process, parcel_bytes_under_way_max);
  }
};

void check_may_wait(const char* call) {
  if (worker::in_chunk()) [[unlikely]]
    throw error(formatted(
        "a chunk of a loop called {} of another locality, which may wait for room: call it before or after the loop",
        call));
}

}  // namespace

void parcel_layer::throw_dead(int process, const action_entry& which) const {
  throw error(
      formatted("locality {} has died: {} cannot be called there", process, name_of(which)));
}

// --- Room at the other side -----------------------------------------------------------------------

// What the calling fiber sends becomes memory of the other process until a task there begins it. Answers need none: who
// gets them has made room. False: that process is dead.
bool parcel_layer::wait_for_room(worker& here, int process, std::uint64_t cost) {
  credits<>& room = peers_[static_cast<std::size_t>(process)].room;
  if (room.take_or_wait(cost)) [[likely]]
    return true;
  bool has_room = false, is_dead = false;
  const words_of_room words(process);
  wait_description what;
  what.call = "a call";
  what.context = wait_description::in_words;
  what.subject = &words;
  // The condition is looked at once more after it was true.
  here.wait_until(
      [&] {
        if (has_room || is_dead) return true;
        has_room = room.take_or_wait(cost);
        is_dead = !has_room && !network::of(here).device().is_alive(process);
        return has_room || is_dead;
      },
      what);
  return has_room;
}

void parcel_layer::owe(worker& here, int process, std::uint64_t bytes) noexcept {
  // Relaxed: a sum, of which one takes all.
  std::atomic<std::uint64_t>& owed = peers_[static_cast<std::size_t>(process)].owed;
  if (owed.fetch_add(bytes, std::memory_order_relaxed) + bytes < parcel_credit_told_bytes)
      [[likely]]
    return;
  parcel_header header;
  header.kind = parcel_kind::credit;
  header.call = owed.exchange(0, std::memory_order_relaxed);
  if (header.call != 0)
    port_->send_at_once(here, process, -1, std::as_bytes(std::span(&header, 1)));
}

std::uint32_t parcel_layer::take_owed(int process) noexcept {
  std::atomic<std::uint64_t>& owed = peers_[static_cast<std::size_t>(process)].owed;
  if (owed.load(std::memory_order_relaxed) == 0) return 0;
  const std::uint64_t all = owed.exchange(0, std::memory_order_relaxed);
  constexpr std::uint64_t most =
      ~std::uint32_t{0};  // That a header can tell; a parcel may be longer.
  if (all > most) [[unlikely]]
    owed.fetch_add(all - most, std::memory_order_relaxed);
  return static_cast<std::uint32_t>(std::min(all, most));
}

void parcel_layer::owe_again(int process, std::uint32_t bytes) noexcept {
  peers_[static_cast<std::size_t>(process)].owed.fetch_add(bytes, std::memory_order_relaxed);
}

void parcel_layer::on_credit(int process, std::uint64_t bytes) noexcept {
  const auto said = peers_[static_cast<std::size_t>(process)].room.give_back(bytes);
  if (!said.wake_all) [[likely]]
    return;
  for (int i = 0; i < job_.workers->worker_count(); ++i) job_.workers->at(i).notify();
}

void parcel_layer::send_call(int process, const action_entry& which, parcel_writer& encoded,
                             kept_values* kept, awaited_call* waits) {
  until_sent holding{kept};
  check_may_wait("async");
  const std::uint32_t number = number_of(which);
  if (have_constructors_run() && !has_action(number)) [[unlikely]]
    throw error(formatted(
        "the action {} was registered after the job had begun, with a library that was opened since: open it before",
        name_of(which)));
  parcel_header header;
  header.kind = waits != nullptr ? parcel_kind::call : parcel_kind::post;
  header.action = number;
  task_source& home = task_source::here("async");
  if (waits != nullptr) {
    await(home, *waits, process, which);
    const awaited& room = room_of(*waits);
    header.call = call_name{static_cast<std::uint32_t>(home.home().index()),
                            share_of(home.home()).slots[room.index].generation, room.index}
                      .packed();
  }
  const auto still_awaited = [&] {
    return waits != nullptr && find(home.home(), header.call, process) == waits;
  };
  std::uint64_t taken = 0;
  try {
    outgoing_parcel made = finished(encoded, kept, header, process, -1);
    const std::uint64_t cost = cost_of(made);
    if (wait_for_room(home.home(), process, cost)) [[likely]] {
      taken = cost;
      // Not before: two that wait for each other's would have them in their hands.
      header.credit = take_owed(process);
      std::memcpy(made.bytes.data() + offsetof(parcel_header, credit), &header.credit,
                  sizeof header.credit);
      holding.kept = nullptr;
      if (send(home.home(), made)) [[likely]]
        return;
    }
  } catch (...) {
    // It has not left: others may take the room.
    if (taken != 0) on_credit(process, taken);
    owe_again(process, header.credit);
    // Whoever gave up what was awaited has dropped it; the caller drops what is left.
    if (still_awaited())
      (void)stop_awaiting(*waits);
    else if (waits != nullptr)
      waits->core->add_reference();
    throw;
  }
  if (waits == nullptr) return;  // Nobody waits for what the dead do.
  if (!still_awaited()) return;
  try {
    throw_dead(process, which);
  } catch (...) {
    awaited_call& given_up = stop_awaiting(*waits);
    given_up.fail(given_up, std::current_exception());
  }
}

void parcel_layer::send_result(const call_origin& to, parcel_writer& encoded, kept_values* kept) {
  until_sent holding{kept};
  parcel_header header;
  header.kind = parcel_kind::result;
  header.action = to.action;
  header.call = to.call;
  if (tracing()) [[unlikely]]
    accounts::leave_cause_of_action(accounts::key_of_call(to.process, to.call),
                                    event_file::kept_name(name_of(*actions()[to.action]).c_str()));
  outgoing_parcel made = finished(encoded, kept, header, to.process, to.port);
  header.credit = take_owed(to.process);
  std::memcpy(made.bytes.data() + offsetof(parcel_header, credit), &header.credit,
              sizeof header.credit);
  holding.kept = nullptr;
  try {
    (void)send(*worker::current(), made);  // The dead need no result.
  } catch (...) {
    owe_again(to.process, header.credit);
    throw;
  }
}

namespace {

// What of an exception's text travels.
constexpr std::size_t failure_text_max = 4096;

std::size_t put_text(std::byte* at, std::string_view text) noexcept {
  const auto size = static_cast<std::uint32_t>(text.size());
  std::memcpy(at, &size, sizeof size);
  std::memcpy(at + sizeof size, text.data(), text.size());
  return sizeof size + text.size();
}

// Of the exception that is being handled: its type, and what it says.
std::pair<std::string, std::string> words_of_exception() {
  const std::type_info* const type = std::current_exception().__cxa_exception_type();
  const std::string name = type != nullptr ? demangled(type->name()) : std::string();
  try {
    throw;
  } catch (const std::exception& e) {
    return {name, e.what()};
  } catch (...) {
    return {name, "an exception of type " + (name.empty() ? "another language" : name)};
  }
}

}  // namespace

// In progress or in a task.
void parcel_layer::answer_failure(worker& here, const message_origin& to, std::uint64_t call,
                                  std::string_view type, std::string_view text) noexcept {
  type = type.substr(0, failure_text_max);
  text = text.substr(0, failure_text_max);
  alignas(8)
      std::byte bytes[sizeof(parcel_header) + 2 * (failure_text_max + sizeof(std::uint32_t))];
  std::size_t size = sizeof(parcel_header);
  size += put_text(bytes + size, type);
  size += put_text(bytes + size, text);
  parcel_header header;
  header.kind = parcel_kind::failure;
  header.call = call;
  header.size = static_cast<std::uint32_t>(size - sizeof header);
  std::memcpy(bytes, &header, sizeof header);
  port_->send_at_once(here, to.process, to.port, {bytes, size});
}

void parcel_layer::send_failure(const call_origin& to) noexcept {
  try {
    throw;
  } catch (const job_stopped&) {
    return;
  } catch (...) {
  }
  const auto [type, text] = words_of_exception();
  if (to.wants_result)
    return answer_failure(*worker::current(), {to.process, to.port}, to.call, type, text);
  fail_posted(*actions()[to.action], formatted("{} (posted by locality {})", text, to.process));
}

void parcel_layer::fail_posted(const action_entry& which, const std::string& why) noexcept {
  job_.tell_failure(
      formatted("locality {}: the action {} ended with an exception, and nobody waits for it: {}",
                process_, name_of(which), why));
  job_.workers->request_stop();
}

// --- What the headers call ------------------------------------------------------------------------

void send_call(parcel_layer& layer, int process, const action_entry& which, parcel_writer& encoded,
               kept_values* kept, awaited_call* awaited) {
  layer.send_call(process, which, encoded, kept, awaited);
}

void send_result(parcel_layer& layer, const call_origin& to, parcel_writer& encoded,
                 kept_values* kept) {
  layer.send_result(to, encoded, kept);
}

void give_credit(parcel_layer& layer, const call_origin& to) noexcept {
  if (to.owed != 0) layer.owe(*worker::current(), to.process, to.owed);
}

void send_failure(parcel_layer& layer, const call_origin& to) noexcept {
  layer.send_failure(to);
}

void fail_posted(const action_entry& which) noexcept {
  try {
    throw;
  } catch (const job_stopped&) {
  } catch (...) {
    parcel_layer::here("post").fail_posted(which, words_of_exception().second);
  }
}

}  // namespace weft::detail
