// What comes from other localities: calls become tasks, answers go to who waits for them.
#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "job/constructors.hpp"
#include "job/state.hpp"
#include "parcel/awaited.hpp"
#include "parcel/layer.hpp"
#include "parcel/remote_exception.hpp"
#include "profile/causes.hpp"
#include "weft/error.hpp"

namespace weft::detail {

// --- What comes -----------------------------------------------------------------------------------

namespace {

// The sizes of its chunks, 8 bytes each: the last of the content.
[[nodiscard]] std::span<const std::byte> sizes_of_chunks(
    const parcel_header& header, std::span<const std::byte> content) noexcept {
  return content.last(header.chunk_count * sizeof(std::uint64_t));
}

// What the parcel costs, as its sender has counted it.
[[nodiscard]] std::uint64_t cost_of(const parcel_header& header,
                                    std::span<const std::byte> content) noexcept {
  std::uint64_t cost = parcel_overhead_bytes + sizeof header + header.size;
  const std::span<const std::byte> sizes = sizes_of_chunks(header, content);
  for (std::size_t at = 0; at < sizes.size(); at += sizeof cost) {
    std::uint64_t size = 0;
    std::memcpy(&size, sizes.data() + at, sizeof size);
    cost += std::min(size, parcel_chunk_bytes_max);
  }
  return cost;
}

}  // namespace

// It lies in the pool, with the content behind it.
struct parcel_layer::arrived : task {
  parcel_layer* of;
  message_origin from;
  parcel_header header;
  awaited_call* call = nullptr;
  bool has_asked_for_chunks = false;
  [[nodiscard]] std::byte* content() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  [[nodiscard]] std::span<const std::byte> whole() noexcept { return {content(), header.size}; }
  [[nodiscard]] std::span<const std::byte> chunk_sizes() noexcept {
    return sizes_of_chunks(header, whole());
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

struct parcel_layer::forwarded_answer final : arrival {
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

void parcel_layer::on_hello(worker& here, const message_origin& from, const parcel_header& header) {
  if (have_constructors_run()) [[likely]]
    return compare_actions(here, from, header.call);
  if (here.is_shared()) return;  // It runs no tasks, nor will it answer calls.
  parcel_header digest_alone = header;
  digest_alone.size = 0;
  arrived& made = keep(from, digest_alone, {});
  made.act = &run_hello;
  task_source::here("a comparison of actions").submit_here(made);
}

void parcel_layer::run_hello(task& self, bool may_run) noexcept {
  auto& mine = static_cast<arrived&>(self);
  if (!may_run) return mine.free();
  try {
    mine.of->wait_for_constructors();
    mine.of->compare_actions(*worker::current(), mine.from, mine.header.call);
  } catch (const job_stopped&) {
  } catch (const std::exception&) {
    mine.of->refuse(*worker::current(), mine.from, "there is no memory for it");
  }
  mine.free();
}

void parcel_receiver::expect_work(worker& here) noexcept {
  if (here.is_shared()) [[unlikely]]
    return;  // It runs no tasks, and would hold the job for ever: deliver() finds that, too.
  if (here.source() == nullptr) [[unlikely]] {
    try {
      static_cast<void>(task_source::here("an action"));
    } catch (const error&) {  // No memory: deliver() will find that, too.
      return;
    }
  }
  static_cast<task_source*>(here.source())->expect_tasks();
}

// Any worker of the caller sends what is aggregated. Where chunks must come to the worker that waits for them, that one is
// told of them as well.
message_origin parcel_layer::answers_go_to(const message_origin& from,
                                           const parcel_header& header) const noexcept {
  const call_name name = call_name::of(header.call);
  if (port_->receives_anywhere() || name.worker >= shares_.size()) return from;
  return {from.process, static_cast<std::uint16_t>(name.worker)};
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
      if (header.credit != 0) on_credit(from.process, header.credit);
      switch (header.kind) {
        case parcel_kind::call:
          on_call(here, answers_go_to(from, header), header, content);
          break;
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
          on_names(from.process, content);
          break;
        case parcel_kind::meet:
          if (header.call >= static_cast<std::uint64_t>(process_count_) ||
              header.call == static_cast<std::uint64_t>(process_))
            return refuse(here, from, "it leads to no other process of the job");
          send_hello(here, static_cast<int>(header.call));
          break;
        case parcel_kind::credit:
          on_credit(from.process, header.call);
          break;
        default:
          return refuse(here, from, "it is a parcel of no kind");
      }
    } while (!message.empty());
  } catch (const std::exception&) {  // No memory.
    refuse(here, from, "there is no memory for it");
  }
}

void parcel_layer::turn_call_away(worker& here, const message_origin& from,
                                  const parcel_header& header, std::span<const std::byte> content,
                                  const char* why, std::string_view to_caller) noexcept {
  refuse(here, from, why);
  drop_chunks(here, from, header, content);
  owe(here, from.process, cost_of(header, content));
  if (header.kind == parcel_kind::call) answer_error(here, from, header.call, to_caller);
}

// Its program may know others by these numbers: the difference ends the job.
void parcel_layer::turn_unknown_action_away(worker& here, const message_origin& from,
                                            const parcel_header& header,
                                            std::span<const std::byte> content) noexcept {
  static constexpr const char* why = "it calls an action that there is not";
  try {
    if (!actions().empty()) send_names(here, from);
    turn_call_away(here, from, header, content, why,
                   formatted("locality {} has no such action: start programs with the same actions "
                             "in all processes",
                             process_));
  } catch (const std::bad_alloc&) {
    turn_call_away(here, from, header, content, why, "there is no such action");
  }
}

void parcel_layer::on_call(worker& here, const message_origin& from, const parcel_header& header,
                           std::span<const std::byte> content) {
  // Before the constructors have run the task looks.
  if (have_constructors_run() && find_action(header.action) == nullptr) [[unlikely]]
    return turn_unknown_action_away(here, from, header, content);
  task_source* tasks = nullptr;
  try {
    tasks = &task_source::here("an action");
  } catch (const error& e) {  // The worker shares itself with threads of its ranks.
    return turn_call_away(here, from, header, content, "its worker runs no tasks", e.what());
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
  try {
    of.wait_for_constructors();
  } catch (const job_stopped&) {
    return mine.free();
  }
  const action_entry* const found = of.find_action(mine.header.action);
  if (found == nullptr) [[unlikely]] {
    of.turn_unknown_action_away(*worker::current(), mine.from, mine.header, mine.whole());
    return mine.free();
  }
  const action_entry& which = *found;
  call_origin from;
  from.process = mine.from.process;
  from.port = mine.from.port;
  from.wants_result = mine.header.kind == parcel_kind::call;
  from.action = mine.header.action;
  from.call = mine.header.call;
  parcel_reader reader(mine.values(), mine.chunk_sizes());
  // The cost of one with chunks is owed when these have come.
  if (mine.header.chunk_count == 0)
    of.owe(*worker::current(), from.process, cost_of(mine.header, mine.whole()));
  else
    from.owed = cost_of(mine.header, mine.whole());
  received_call call(of, from, reader, &mine);
  bool is_begun = false;
  const running_action named(which);
  try {
    which.run(call);
    is_begun = true;
  } catch (const malformed_parcel& e) {
    worker& here = *worker::current();
    of.refuse(here, mine.from, e.what());
    if (from.wants_result)
      of.answer_error(here, mine.from, from.call,
                      formatted("the arguments of {}: {}", name_of(which), e.what()));
  } catch (...) {
    of.send_failure(from);  // No memory, or the program's own code for reading an argument.
  }
  if (!is_begun && !mine.has_asked_for_chunks) [[unlikely]] {
    worker& here = *worker::current();
    if (from.owed != 0) of.owe(here, from.process, from.owed);
    of.drop_chunks(here, mine.from, mine.header, mine.whole());
  }
  mine.free();
}

namespace {

// Chunks that nobody wants go here.
struct unwanted_chunks final : chunked_task {
  std::vector<std::unique_ptr<std::byte[]>> room;
  std::vector<std::span<std::byte>> places;
  // Throws std::bad_alloc.
  void add(std::size_t bytes) {
    room.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
    places.emplace_back(room.back().get(), bytes);
  }
  unwanted_chunks() noexcept {
    act = [](task& self, bool) noexcept { free_pooled(static_cast<unwanted_chunks*>(&self)); };
    abandon = [](chunked_task& self) noexcept {
      free_pooled(static_cast<unwanted_chunks*>(&self));
    };
  }
};

}  // namespace

void parcel_layer::drop_chunks(worker& here, const message_origin& from,
                               const parcel_header& header,
                               std::span<const std::byte> content) noexcept {
  if (header.chunk_count == 0) [[likely]]
    return;
  const std::span<const std::byte> transmission =
      content.last(transmission_bytes(header.chunk_count));
  std::uint64_t word = 0;
  std::memcpy(&word, transmission.data(), sizeof word);
  unwanted_chunks* unwanted = nullptr;
  try {
    unwanted = make_pooled<unwanted_chunks>();
    for (std::size_t at = sizeof word; at < transmission.size(); at += sizeof word) {
      std::uint64_t size = 0;
      std::memcpy(&size, transmission.data() + at, sizeof size);
      // Chunks of a size that no sender makes do not come.
      if (size == 0 || size > parcel_chunk_bytes_max) return free_pooled(unwanted);
      unwanted->add(static_cast<std::size_t>(size));
    }
    port_->receive(here, from.process, word, unwanted->places, *unwanted);
  } catch (const job_stopped&) {  // The port has them, or has abandoned them.
  } catch (const std::exception& e) {
    if (unwanted != nullptr) free_pooled(unwanted);
    job_.tell_failure(
        formatted("locality {} cannot receive what it was to refuse, and the job would not end: {}",
                  process_, e.what()));
    job_.workers->request_stop();
  }
}

void received_call::run_when_complete(chunked_task& what) {
  auto& parcel = *static_cast<parcel_layer::arrived*>(parcel_);
  parcel.has_asked_for_chunks = true;
  try {
    layer_.port().receive(*worker::current(), from_.process, parcel.word(), reader_.places(), what);
  } catch (const job_stopped&) {  // The port has it, or has abandoned it.
  }
}

void parcel_layer::on_answer(worker& here, const message_origin& from, const parcel_header& header,
                             std::span<const std::byte> content) {
  const call_name name = call_name::of(header.call);
  const auto turn_away = [&](const char* why) {
    refuse(here, from, why);
    drop_chunks(here, from, header, content);
  };
  if (name.worker >= shares_.size()) return turn_away("it answers no call of this process");
  if (static_cast<int>(name.worker) != here.index()) [[unlikely]] {
    if (header.chunk_count != 0 && !port_->receives_anywhere())
      return turn_away("it answers a call of another worker");
    auto* const home =
        static_cast<task_source*>(here.owner().at(static_cast<int>(name.worker)).source());
    if (home == nullptr) return turn_away("it answers no call of this process");
    arrived& made = keep(from, header, content);
    auto* const forwarded = make_pooled<forwarded_answer>();
    forwarded->what = &made;
    forwarded->come = [](arrival& self, task_source& at) noexcept {
      auto& mine = static_cast<forwarded_answer&>(self);
      arrived& parcel = *mine.what;
      free_pooled(&mine);
      try {
        parcel.of->on_answer(at.home(), parcel.from, parcel.header, parcel.whole());
      } catch (const std::exception&) {
        parcel.of->refuse(at.home(), parcel.from, "there is no memory for it");
      }
      parcel.free();
    };
    return home->send(*forwarded);
  }
  awaited_call* const call = find(here, header.call, from.process);
  if (call == nullptr) [[unlikely]]
    return turn_away("it answers no call of this process");
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
    const profile::brought_about by(process_, header.call);
    stop_awaiting(call).set(call);
    return;
  }
  // It runs code of the program, or waits for chunks: a task, on this worker, which alone may touch the call.
  if (here.is_shared()) [[unlikely]] {  // Since it called.
    drop_chunks(here, from, header, content);
    const auto why = std::make_exception_ptr(error(formatted(
        "the result of {} from locality {} came to a worker whose ranks may make threads that communicate "
        "(MPI_THREAD_SERIALIZED or more) by now, which runs no tasks: take it before",
        name_of(which), from.process)));
    stop_awaiting(call).fail(call, why);
    return;
  }
  arrived& made = keep(from, header, content);
  made.call = &stop_awaiting(call);
  made.act = &run_answer;
  task_source::here("a result").submit_here(made);
}

namespace {

// Sets the result when its chunks have come.
struct chunked_result final : chunked_task {
  awaited_call& call;
  const int process;  // That called, and what this one calls the call.
  const std::uint64_t name;
  chunked_result(awaited_call& of, int own, std::uint64_t named) noexcept
      : call(of), process(own), name(named) {
    act = [](task& self, bool may_run) noexcept {
      auto& mine = static_cast<chunked_result&>(self);
      if (!may_run) return mine.abandon(mine);
      const profile::brought_about by(mine.process, mine.name);
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
    if (!reader.has_chunks()) {
      const profile::brought_about by(of.process_, mine.header.call);
      return call.set(call);
    }
    auto* const then = make_pooled<chunked_result>(call, of.process_, mine.header.call);
    try {
      mine.has_asked_for_chunks = true;
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
  if (!mine.has_asked_for_chunks)
    of.drop_chunks(*worker::current(), mine.from, mine.header, mine.whole());
}

namespace {

[[nodiscard]] std::optional<std::string_view> take_text(std::span<const std::byte>& from) noexcept {
  std::uint32_t size = 0;
  if (from.size() < sizeof size) return {};
  std::memcpy(&size, from.data(), sizeof size);
  if (size > from.size() - sizeof size) return {};
  const std::string_view text(reinterpret_cast<const char*>(from.data()) + sizeof size, size);
  from = from.subspan(sizeof size + size);
  return text;
}

}  // namespace

std::exception_ptr parcel_layer::failure_from(int process, const action_entry& which,
                                              std::span<const std::byte> content) const {
  failure_words words;
  std::optional<std::string_view> type, text, category;
  if (content.size() >= sizeof words) {
    std::memcpy(&words, content.data(), sizeof words);
    content = content.subspan(sizeof words);
    type = take_text(content);
    if (type) text = take_text(content);
    if (text) category = take_text(content);
  }
  if (!category || !content.empty())
    return std::make_exception_ptr(error(formatted(
        "locality {} sent a failure of {} that makes no sense", process, name_of(which))));
  return remote_exception_of(words, std::string(*type), std::string(*text), *category,
                             locality(process), name_of(which));
}

}  // namespace weft::detail
