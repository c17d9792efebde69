#include "parcel/layer.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <typeinfo>
#include <utility>

#include "base/format.hpp"
#include "base/settings.hpp"
#include "base/stack_trace.hpp"
#include "job/connection.hpp"
#include "job/state.hpp"
#include "weft/error.hpp"

namespace weft::detail {
namespace {

std::unique_ptr<face_job> begin(job& j, face_handlers& handlers) {
  return std::make_unique<parcel_layer>(j, handlers);
}
constexpr face as_face{parcel_face_slot, "parcels", {}, &begin};
[[maybe_unused]] const bool registered = register_face(as_face) && let_every_worker_send();

// What of an exception's text travels.
constexpr std::size_t failure_text_max = 4096;

// The layers of all jobs of this process, by their schedulers. A thread remembers the one that it asked for last, until any
// has come or gone.
struct known_layers {
  std::mutex lock;
  std::vector<std::pair<const scheduler*, parcel_layer*>> all;
  std::atomic<std::uint64_t> changes{1};

  void add(const scheduler& of, parcel_layer& layer) {
    const std::lock_guard hold(lock);
    all.emplace_back(&of, &layer);
    changes.fetch_add(1, std::memory_order_relaxed);
  }
  void remove(const parcel_layer& layer) {
    const std::lock_guard hold(lock);
    std::erase_if(all, [&](const auto& one) { return one.second == &layer; });
    changes.fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] parcel_layer* find(const scheduler& of) {
    const std::lock_guard hold(lock);
    for (const auto& [workers, layer] : all)
      if (workers == &of) return layer;
    return nullptr;
  }
};
known_layers layers;

struct remembered {
  const scheduler* of = nullptr;
  parcel_layer* layer = nullptr;
  std::uint64_t change = 0;
};
[[gnu::tls_model("initial-exec")]] thread_local constinit remembered last_asked;

}  // namespace

// --- Whose layer ----------------------------------------------------------------------------------

parcel_layer& parcel_layer::here(const char* call) {
  const worker* const at = worker::current();
  if (at == nullptr) [[unlikely]]
    throw error(formatted(
        "{} was called outside of ranks and tasks: call it in what weft::run() or weft::run_tasks() runs",
        call));
  // A worker outlives its scheduler's layer in no call: what is remembered of another is told by the scheduler's address
  // or by the count of changes, which this thread sees of its own job's start.
  const std::uint64_t change = layers.changes.load(std::memory_order_relaxed);
  if (last_asked.of != &at->owner() || last_asked.change != change) [[unlikely]]
    last_asked = {&at->owner(), layers.find(at->owner()), change};
  return *last_asked.layer;
}

parcel_layer::parcel_layer(job& j, face_handlers& handlers)
    : job_(j),
      actions_(actions_by_number()),
      process_(j.process),
      process_count_(handlers.between() != nullptr ? handlers.between()->process_count() : 1),
      shares_(static_cast<std::size_t>(j.workers->worker_count())) {
  if (network* const between = handlers.between(); between != nullptr) {
    port_ = make_parcelport(parcelport_name::of(parcelport_setting()),
                            {*this, *between, *j.workers, handlers});
    // A program without actions, as those of MPI are, has none to compare. Not sent here: what comes meanwhile would find
    // no worker.
    if (process_ != 0 && !actions_.empty())
      between->at(0).keep_trying(
          [](worker& here, void* self) {
            const parcel_layer& me = *static_cast<parcel_layer*>(self);
            parcel_header hello;
            hello.kind = parcel_kind::hello;
            hello.call = digest_of_actions(me.actions_);
            me.port_->send_at_once(here, 0, -1, std::as_bytes(std::span(&hello, 1)));
            return true;
          },
          this);
  }
  layers.add(*j.workers, *this);
}

// Whoever awaited something has been given up with its job's workers; what it lay in goes with the pools.
parcel_layer::~parcel_layer() {
  layers.remove(*this);
}

// --- Calls that are awaited -----------------------------------------------------------------------

struct parcel_layer::awaited : suspended {
  parcel_layer* of;
  task_source* home;
  const action_entry* which;
  std::uint32_t index;
  std::int32_t process;
};

parcel_layer::awaited& parcel_layer::room_of(awaited_call& call) noexcept {
  return *std::launder(reinterpret_cast<awaited*>(call.room));
}

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

void parcel_layer::send_call(int process, const action_entry& which, parcel_writer& encoded,
                             kept_values* kept, awaited_call* waits) {
  until_sent holding{kept};
  check_may_wait("async");
  if (which.index >= actions_.size() || actions_[which.index] == nullptr) [[unlikely]]
    throw error(formatted(
        "the action {} was registered after the job had begun, with a library that was opened since: open it before",
        name_of(which)));
  parcel_header header;
  header.kind = waits != nullptr ? parcel_kind::call : parcel_kind::post;
  header.action = which.index;
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
  try {
    outgoing_parcel made = finished(encoded, kept, header, process, -1);
    holding.kept = nullptr;
    if (port_->send(home.home(), made)) [[likely]]
      return;
  } catch (...) {
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
  outgoing_parcel made = finished(encoded, kept, header, to.process, to.port);
  holding.kept = nullptr;
  (void)port_->send(*worker::current(), made);  // The dead need no result.
}

namespace {

std::size_t put_text(std::byte* at, std::string_view text) noexcept {
  const auto size = static_cast<std::uint32_t>(text.size());
  std::memcpy(at, &size, sizeof size);
  std::memcpy(at + sizeof size, text.data(), text.size());
  return sizeof size + text.size();
}

[[nodiscard]] std::optional<std::string_view> take_text(std::span<const std::byte>& from) noexcept {
  std::uint32_t size = 0;
  if (from.size() < sizeof size) return {};
  std::memcpy(&size, from.data(), sizeof size);
  if (size > from.size() - sizeof size) return {};
  const std::string_view text(reinterpret_cast<const char*>(from.data()) + sizeof size, size);
  from = from.subspan(sizeof size + size);
  return text;
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
  fail_posted(*actions_[to.action], formatted("{} (posted by locality {})", text, to.process));
}

void parcel_layer::fail_posted(const action_entry& which, const std::string& why) noexcept {
  job_.tell_failure(
      formatted("locality {}: the action {} ended with an exception, and nobody waits for it: {}",
                process_, name_of(which), why));
  job_.workers->request_stop();
}

// --- What comes -----------------------------------------------------------------------------------

// In the pool, the content behind it.
struct parcel_layer::arrived : task {
  parcel_layer* of;
  message_origin from;
  parcel_header header;
  awaited_call* call = nullptr;
  [[nodiscard]] std::byte* content() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  [[nodiscard]] std::span<const std::byte> chunk_sizes() noexcept {
    const std::size_t bytes = header.chunk_count * sizeof(std::uint64_t);
    return {content() + header.size - bytes, bytes};
  }
  [[nodiscard]] std::span<const std::byte> values() noexcept {
    return {content(), header.size - transmission_bytes(header.chunk_count)};
  }
  [[nodiscard]] std::uint64_t word() noexcept {
    std::uint64_t value = 0;
    std::memcpy(&value, content() + values().size(), sizeof value);
    return value;
  }
  void free() noexcept {
    const std::size_t bytes = sizeof *this + header.size;
    this->~arrived();
    give_memory(this, bytes);
  }
};

struct parcel_layer::handed_on final : arrival {
  arrived* what;
};

parcel_layer::arrived& parcel_layer::keep(const message_origin& from, const parcel_header& header,
                                          std::span<const std::byte> content) {
  static_assert(alignof(arrived) <= alignof(std::max_align_t));
  auto& made = *::new (take_memory(sizeof(arrived) + content.size())) arrived;
  made.of = this;
  made.from = from;
  made.header = header;
  if (!content.empty()) std::memcpy(made.content(), content.data(), content.size());
  return made;
}

void parcel_receiver::expect_work(worker& here) noexcept {
  if (here.source() == nullptr) [[unlikely]] {
    try {
      static_cast<void>(task_source::here("an action"));
    } catch (const error&) {  // This worker runs no tasks: deliver() will find that, too.
      return;
    }
  }
  static_cast<task_source*>(here.source())->expect_tasks();
}

void parcel_layer::deliver(worker& here, const message_origin& from,
                           std::span<const std::byte> message) noexcept {
  if (here.owner().stopping()) [[unlikely]]
    return;
  try {
    do {
      parcel_header header;
      if (message.size() < sizeof header) return refuse(here, from, "it is too short for a parcel");
      std::memcpy(&header, message.data(), sizeof header);
      if (header.version != parcel_version)
        return refuse(here, from, "it is a parcel of another version of weft");
      message = message.subspan(sizeof header);
      if (header.size > message.size() || transmission_bytes(header.chunk_count) > header.size ||
          header.chunk_count > parcel_chunks_max)
        return refuse(here, from, "it is cut off: its parcel says that it is longer");
      const std::span<const std::byte> content = message.first(header.size);
      message = message.subspan(header.size);
      switch (header.kind) {
        case parcel_kind::call:
        case parcel_kind::post:
          on_call(here, from, header, content);
          break;
        case parcel_kind::result:
        case parcel_kind::failure:
          on_answer(here, from, header, content);
          break;
        case parcel_kind::hello:
          on_hello(here, from, header);
          break;
        case parcel_kind::names:
          on_names(content);
          break;
        default:
          return refuse(here, from, "it is a parcel of no kind");
      }
    } while (!message.empty());
  } catch (const std::exception&) {  // No memory.
    refuse(here, from, "there is no memory for it");
  }
}

void parcel_layer::on_call(worker& here, const message_origin& from, const parcel_header& header,
                           std::span<const std::byte> content) {
  if (header.action >= actions_.size()) [[unlikely]] {
    refuse(here, from, "it calls an action that there is not");
    if (header.kind == parcel_kind::call)
      answer_failure(here, from, header.call, "weft::error",
                     formatted("locality {} has no action number {}", process_, header.action));
    return;
  }
  task_source* tasks = nullptr;
  try {
    tasks = &task_source::here("an action");
  } catch (const error& e) {  // The worker shares itself with threads of its ranks.
    refuse(here, from, "its worker runs no tasks");
    if (header.kind == parcel_kind::call)
      answer_failure(here, from, header.call, "weft::error", e.what());
    return;
  }
  arrived& made = keep(from, header, content);
  made.act = &run_call;
  // Chunks come to this worker's device.
  if (header.chunk_count != 0)
    tasks->submit_here(made);
  else
    tasks->submit(made, priority::normal);
}

void parcel_layer::run_call(task& self, bool may_run) noexcept {
  auto& mine = static_cast<arrived&>(self);
  if (!may_run) return mine.free();
  parcel_layer& of = *mine.of;
  const action_entry& which = *of.actions_[mine.header.action];
  call_origin from;
  from.process = mine.from.process;
  from.port = mine.from.port;
  from.wants_result = mine.header.kind == parcel_kind::call;
  from.action = mine.header.action;
  from.call = mine.header.call;
  parcel_reader reader(mine.values(), mine.chunk_sizes());
  received_call call(of, from, reader, &mine);
  try {
    which.run(call);
  } catch (const malformed_parcel& e) {
    worker& here = *worker::current();
    of.refuse(here, mine.from, e.what());
    if (from.wants_result)
      of.answer_failure(here, mine.from, from.call, "weft::error",
                        formatted("the arguments of {}: {}", name_of(which), e.what()));
  } catch (...) {
    of.send_failure(from);  // No memory, or the program's own code for reading an argument.
  }
  mine.free();
}

void received_call::run_when_complete(chunked_task& what) {
  auto& parcel = *static_cast<parcel_layer::arrived*>(parcel_);
  try {
    layer_.port().receive(*worker::current(), from_.process, parcel.word(), reader_.places(), what);
  } catch (const job_stopped&) {  // The port has it, or has abandoned it.
  }
}

void parcel_layer::on_answer(worker& here, const message_origin& from, const parcel_header& header,
                             std::span<const std::byte> content) {
  const call_name name = call_name::of(header.call);
  if (name.worker >= shares_.size())
    return refuse(here, from, "it answers no call of this process");
  if (static_cast<int>(name.worker) != here.index()) [[unlikely]] {
    if (header.chunk_count != 0 && !port_->receives_anywhere())
      return refuse(here, from, "it answers a call of another worker");
    auto* const home =
        static_cast<task_source*>(here.owner().at(static_cast<int>(name.worker)).source());
    if (home == nullptr) return refuse(here, from, "it answers no call of this process");
    arrived& made = keep(from, header, content);
    auto* const news = make_pooled<handed_on>();
    news->what = &made;
    news->come = [](arrival& self, task_source& at) noexcept {
      auto& mine = static_cast<handed_on&>(self);
      arrived& parcel = *mine.what;
      free_pooled(&mine);
      try {
        parcel.of->on_answer(at.home(), parcel.from, parcel.header,
                             {parcel.content(), parcel.header.size});
      } catch (const std::exception&) {
        parcel.of->refuse(at.home(), parcel.from, "there is no memory for it");
      }
      parcel.free();
    };
    return home->send(*news);
  }
  awaited_call* const call = find(here, header.call, from.process);
  if (call == nullptr) [[unlikely]]
    return refuse(here, from, "it answers no call of this process");
  answer(here, *call, from, header, content);
}

void parcel_layer::answer(worker& here, awaited_call& call, const message_origin& from,
                          const parcel_header& header, std::span<const std::byte> content) {
  const action_entry& which = *room_of(call).which;
  if (header.kind == parcel_kind::failure) {
    const std::exception_ptr why = failure_from(from.process, which, content);
    stop_awaiting(call).fail(call, why);
    return;
  }
  if (call.is_plain && header.chunk_count == 0) [[likely]] {
    parcel_reader reader(content, {});
    try {
      call.take(call, reader);
    } catch (const malformed_parcel& e) {
      refuse(here, from, e.what());
      const auto why = std::make_exception_ptr(error(formatted(
          "the result of {} from locality {}: {}", name_of(which), from.process, e.what())));
      stop_awaiting(call).fail(call, why);
      return;
    }
    stop_awaiting(call).set(call);
    return;
  }
  // It runs code of the program, or waits for chunks: a task, on this worker, which alone may touch the call.
  arrived& made = keep(from, header, content);
  made.call = &stop_awaiting(call);
  made.act = &run_answer;
  task_source::here("a result").submit_here(made);
}

namespace {

// Sets the result when its chunks have come.
struct chunked_result final : chunked_task {
  awaited_call& call;
  explicit chunked_result(awaited_call& of) noexcept : call(of) {
    act = [](task& self, bool may_run) noexcept {
      auto& mine = static_cast<chunked_result&>(self);
      if (!may_run) return mine.abandon(mine);
      mine.call.set(mine.call);
      free_pooled(&mine);
    };
    abandon = [](chunked_task& self) noexcept {
      auto& mine = static_cast<chunked_result&>(self);
      mine.call.fail(mine.call, std::make_exception_ptr(
                                    error("the locality that was to send a result has died")));
      free_pooled(&mine);
    };
  }
};

}  // namespace

void parcel_layer::run_answer(task& self, bool may_run) noexcept {
  auto& mine = static_cast<arrived&>(self);
  awaited_call& call = *mine.call;
  const struct until_end {
    arrived& of;
    ~until_end() { of.free(); }
  } freed{mine};
  if (!may_run) return call.fail(call, std::make_exception_ptr(cancelled()));
  parcel_layer& of = *mine.of;
  parcel_reader reader(mine.values(), mine.chunk_sizes());
  try {
    call.take(call, reader);
    if (!reader.has_chunks()) return call.set(call);
    auto* const then = make_pooled<chunked_result>(call);
    try {
      of.port().receive(*worker::current(), mine.from.process, mine.word(), reader.places(), *then);
    } catch (const job_stopped&) {
    }
  } catch (const malformed_parcel& e) {
    of.refuse(*worker::current(), mine.from, e.what());
    call.fail(call, std::make_exception_ptr(error(
                        formatted("a result from locality {}: {}", mine.from.process, e.what()))));
  } catch (...) {
    call.fail(call, std::current_exception());
  }
}

std::exception_ptr parcel_layer::failure_from(int process, const action_entry& which,
                                              std::span<const std::byte> content) const {
  const auto type = take_text(content);
  const auto text = type ? take_text(content) : std::nullopt;
  if (!text || !content.empty())
    return std::make_exception_ptr(error(formatted(
        "locality {} sent a failure of {} that makes no sense", process, name_of(which))));
  return std::make_exception_ptr(remote_error(
      formatted("{} (thrown by {} in locality {})", printable(*text), name_of(which), process),
      locality(process), printable(*type)));
}

// --- The start ------------------------------------------------------------------------------------

void parcel_layer::on_hello(worker& here, const message_origin& from, const parcel_header& header) {
  if (header.call == digest_of_actions(actions_)) return;
  const std::string names = names_of_actions(actions_);
  std::vector<std::byte> bytes(sizeof(parcel_header) + names.size());
  parcel_header answer;
  answer.kind = parcel_kind::names;
  answer.size = static_cast<std::uint32_t>(names.size());
  std::memcpy(bytes.data(), &answer, sizeof answer);
  std::memcpy(bytes.data() + sizeof answer, names.data(), names.size());
  port_->send_at_once(here, from.process, from.port, bytes);
}

void parcel_layer::on_names(std::span<const std::byte> content) {
  job_.tell_failure(difference_of_actions(
      actions_, {reinterpret_cast<const char*>(content.data()), content.size()}, process_));
  job_.workers->request_stop();
}

// --- The end --------------------------------------------------------------------------------------

bool parcel_layer::end_operations_with_dead(worker& here) {
  if (port_ == nullptr) return false;
  comm::device& device = network::of(here).device();
  share& mine = share_of(here);
  bool any = port_->end_operations_with_dead(here);
  for (std::size_t i = 0; i < mine.slots.size(); ++i) {
    awaited_call* const call = mine.slots[i].call;
    if (call == nullptr || device.is_alive(room_of(*call).process)) continue;
    const std::exception_ptr why = std::make_exception_ptr(
        error(formatted("locality {} has died, which was to return the result of {}",
                        room_of(*call).process, name_of(*room_of(*call).which))));
    stop_awaiting(*call).fail(*call, why);
    any = true;
  }
  return any;
}

// --- What the headers call ------------------------------------------------------------------------

std::size_t chunk_bytes_min(const parcel_layer& layer) noexcept {
  return layer.chunk_bytes_min();
}

parcel_layer* layer_towards(locality there, const char* call) {
  parcel_layer& layer = parcel_layer::here(call);
  if (there.number() == layer.process()) return nullptr;
  if (there.number() < 0 || there.number() >= layer.process_count()) [[unlikely]]
    throw error(formatted("{} of locality {}: the job has localities 0 to {}", call, there.number(),
                          layer.process_count() - 1));
  return &layer;
}

void send_call(parcel_layer& layer, int process, const action_entry& which, parcel_writer& encoded,
               kept_values* kept, awaited_call* awaited) {
  layer.send_call(process, which, encoded, kept, awaited);
}

void send_result(parcel_layer& layer, const call_origin& to, parcel_writer& encoded,
                 kept_values* kept) {
  layer.send_result(to, encoded, kept);
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

namespace weft {

locality here() {
  return locality(detail::parcel_layer::here("here").process());
}

int locality_count() {
  return detail::parcel_layer::here("locality_count").process_count();
}

std::vector<locality> all_localities() {
  std::vector<locality> all;
  const int count = locality_count();
  for (int i = 0; i < count; ++i) all.emplace_back(i);
  return all;
}

}  // namespace weft
