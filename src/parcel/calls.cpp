// Calls of other localities: who waits for which answer, and what is sent.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <utility>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/stack_trace.hpp"
#include "job/constructors.hpp"
#include "job/state.hpp"
#include "parcel/awaited.hpp"
#include "parcel/layer.hpp"
#include "parcel/remote_exception.hpp"
#include "profile/causes.hpp"
#include "trace/event_file.hpp"
#include "weft/error.hpp"

namespace weft::detail {

// --- Calls that are awaited -----------------------------------------------------------------------

void parcel_layer::await(task_source& home, awaited_call& call, int process,
                         const action_entry& which) {
  static_assert(sizeof(awaited) <= sizeof call.room && std::is_standard_layout_v<awaited_call>);
  awaited_calls& calls = share_of(home.home()).calls;
  const std::uint64_t name = calls.add(&call, process);
  if (name == 0)
    throw error(formatted("{} calls of this worker are awaited, which is the limit: wait for some",
                          calls.entries_max));
  auto& room = *::new (call.room) awaited;
  room.home = &home;
  room.which = &which;
  room.name = name;
  room.process = process;
  room.abandon = [](suspended& self) noexcept {
    auto& given_up = static_cast<awaited&>(self);
    auto* const whole = reinterpret_cast<awaited_call*>(&given_up);  // It is its first member.
    const worker& at = given_up.home->home();
    (void)of(at).share_of(at).calls.take(given_up.name);
    whole->fail(*whole, std::make_exception_ptr(cancelled()));
  };
  room.describe = [](const suspended& self, std::string& text) {
    const auto& called = static_cast<const awaited&>(self);
    text += formatted("waits for the result of {}, called in locality {}", name_of(*called.which),
                      called.process);
  };
  home.suspend(room);
}

awaited_call& parcel_layer::resume(awaited_call& call) noexcept {
  awaited& room = room_of(call);
  room.home->resume(room);
  return call;
}

// Frees its name.
awaited_call& parcel_layer::stop_awaiting(awaited_call& call) noexcept {
  awaited& room = room_of(call);
  (void)share_of(room.home->home()).calls.take(room.name);
  return resume(call);
}

awaited_call* parcel_layer::find(worker& here, std::uint64_t name, int process) noexcept {
  awaited_call** const call = share_of(here).calls.find(call_name::of(name).entry, process);
  return call != nullptr ? *call : nullptr;
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
  auto& room = peers_[static_cast<std::size_t>(process)].room;
  if (room.try_take(cost)) [[likely]]
    return true;
  const words_of_room words(process);
  wait_description what;
  what.call = "a call";
  what.context = wait_description::in_words;
  what.subject = &words;
  const auto is_dead = [&] { return !remote::port::of(here).is_alive(process); };
  return room.take_in_wait(here, cost, is_dead, what);
}

void parcel_layer::owe(worker& here, int process, std::uint64_t bytes) noexcept {
  const std::uint64_t told =
      peers_[static_cast<std::size_t>(process)].owed.add(bytes, parcel_credit_told_bytes);
  if (told == 0) [[likely]]
    return;
  parcel_header header;
  header.kind = parcel_kind::credit;
  header.call = told;
  port_->send_at_once(here, process, -1, std::as_bytes(std::span(&header, 1)));
}

std::uint32_t parcel_layer::take_owed(int process) noexcept {
  constexpr std::uint64_t most =
      ~std::uint32_t{0};  // That a header can tell; a parcel may be longer.
  return static_cast<std::uint32_t>(peers_[static_cast<std::size_t>(process)].owed.take(most));
}

void parcel_layer::on_credit(int process, std::uint64_t bytes) noexcept {
  peers_[static_cast<std::size_t>(process)].room.give_back(*job_.workers, bytes);
}

void parcel_layer::send_call(int process, const action_entry& which, parcel_writer& encoded,
                             kept_values* kept, awaited_call* waits) {
  until_sent holding{kept};
  check_may_wait("async");
  const std::uint32_t word = word_of(which);
  if (have_constructors_run() && find_action(word) == nullptr) [[unlikely]]
    throw error(formatted(
        "the action {} was registered after the job had begun, with a library that was opened since: open it before",
        name_of(which)));
  parcel_header header;
  header.kind = waits != nullptr ? parcel_kind::call : parcel_kind::post;
  header.action = word;
  task_source& home = task_source::here("async");
  if (waits != nullptr) {
    await(home, *waits, process, which);
    const awaited& room = room_of(*waits);
    header.call = call_name{static_cast<std::uint64_t>(home.home().index()), room.name}.packed();
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
      // They are not taken before: two that wait for each other's would have them in their hands.
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
    peers_[static_cast<std::size_t>(process)].owed.put_back(header.credit);
    // If somebody gave up the awaited call, that one has dropped it; the caller drops what is left.
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
    profile::leave_cause_of_action(profile::key_of_call(to.process, to.call),
                                   event_file::kept_name(name_of(action_of(to)).c_str()));
  outgoing_parcel made = finished(encoded, kept, header, to.process, to.port);
  header.credit = take_owed(to.process);
  std::memcpy(made.bytes.data() + offsetof(parcel_header, credit), &header.credit,
              sizeof header.credit);
  holding.kept = nullptr;
  try {
    (void)send(*worker::current(), made);  // The dead need no result.
  } catch (...) {
    peers_[static_cast<std::size_t>(to.process)].owed.put_back(header.credit);
    throw;
  }
}

namespace {

void put_text(std::vector<std::byte>& to, std::string_view text) {
  text = text.substr(0, parcel_failure_text_max);
  const auto size = static_cast<std::uint32_t>(text.size());
  const std::size_t at = to.size();
  to.resize(at + sizeof size + text.size());
  std::memcpy(to.data() + at, &size, sizeof size);
  std::memcpy(to.data() + at + sizeof size, text.data(), text.size());
}

}  // namespace

// It is called in progress or in a task.
void parcel_layer::answer_failure(worker& here, const message_origin& to, std::uint64_t call,
                                  const failure_description& what) noexcept {
  try {
    std::vector<std::byte> bytes(sizeof(parcel_header) + sizeof what.words);
    std::memcpy(bytes.data() + sizeof(parcel_header), &what.words, sizeof what.words);
    for (const std::string* const text : {&what.type, &what.text, &what.category})
      put_text(bytes, *text);
    parcel_header header;
    header.kind = parcel_kind::failure;
    header.call = call;
    header.size = static_cast<std::uint32_t>(bytes.size() - sizeof header);
    std::memcpy(bytes.data(), &header, sizeof header);
    port_->send_at_once(here, to.process, to.port, bytes);
  } catch (const std::bad_alloc&) {
    remote::port::of(here).owner().mark_failed(
        to.process, "there is no memory for the failure of an action that is to go there");
  }
}

void parcel_layer::answer_error(worker& here, const message_origin& to, std::uint64_t call,
                                std::string_view text) noexcept {
  failure_description what;
  try {
    what.words.is = standard_exception::runtime_error;
    what.type = "weft::error";
    what.text = text;
  } catch (const std::bad_alloc&) {  // The text is left out.
  }
  answer_failure(here, to, call, what);
}

void parcel_layer::send_failure(const call_origin& to) noexcept {
  try {
    throw;
  } catch (const job_stopped&) {
    return;
  } catch (...) {
  }
  const failure_description what = described_exception();
  if (to.wants_result)
    return answer_failure(*worker::current(), {to.process, to.port}, to.call, what);
  fail_posted(action_of(to), formatted("{} (posted by locality {})", what.line(), to.process));
}

void parcel_layer::fail_posted(const action_entry& which, const std::string& why) noexcept {
  job_.tell_failure(
      formatted("locality {}: the action {} ended with an exception, and nobody waits for it: {}",
                process_, name_of(which), why));
  job_.workers->request_stop();
}

running_action::running_action(const action_entry& which) noexcept
    : before_(std::exchange(worker::current()->running().runs,
                            which.readable.load(std::memory_order_relaxed))) {}

running_action::running_action(parcel_layer& layer, const call_origin& from) noexcept
    : running_action(layer.action_of(from)) {}

running_action::~running_action() {
  worker::current()->running().runs = before_;
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
    parcel_layer::here("post").fail_posted(which, described_exception().line());
  }
}

}  // namespace weft::detail
