// Handlers: who sets them, and the calls that run them for what has come.
#include <algorithm>

#include "base/kept_errno.hpp"
#include "shmem/am_steps.hpp"
#include "shmem/race_notes.hpp"

namespace weft::shmem {
namespace {

// While handlers of a message run.
class running {
 public:
  running(pe_state& pe, const am_record& message) : pe_(pe) {
    ++pe.in_handler;
    pe.messages.replies_to = &message;
    pe.messages.replied = false;
  }
  ~running() {
    --pe_.in_handler;
    pe_.messages.replies_to = outer_;
  }
  running(const running&) = delete;
  running& operator=(const running&) = delete;

 private:
  pe_state& pe_;
  const am_record* const outer_ = pe_.messages.replies_to;
};

am_handler handler_of(const pe_state& me, std::uint32_t id, int source) {
  if (id - 1 < me.messages.handlers.size() && me.messages.handlers[id - 1].function != nullptr)
      [[likely]]
    return me.messages.handlers[id - 1];
  fail(
      "PE {} sent a message with id {}, under which this PE has no handler: call shmemx_am_set_handler before, "
      "and send the id that it returns here",
      source, id);
}

void handle(pe_state& me, am_record& record, std::uint64_t word, void* args_p) {
  const auto length = static_cast<std::size_t>(static_cast<std::uint32_t>(word)) - 1;
  const auto id = static_cast<std::uint32_t>(word >> 32);
  if (id == reply_id) return finish_call(me, record, record.payload(), length);
  const am_handler handler = handler_of(me, id, record.source());
  {
    const running in(me, record);
    handler.function(record.payload(), length, handler.args_r, args_p, record.source());
  }
  if (record.call() != 0 && !me.messages.replied) [[unlikely]]
    write_to(me, "shmemx_am_reply", record.source(), reply_id, record.call(), nullptr, 0);
}

// Handles each message of a bundle, and returns how many there were. The bundle may come from another process, so all of
// it is checked.
std::uint32_t handle_bundle(pe_state& me, am_record& record, std::size_t length, void* args_p) {
  const running in(me, record);
  const int source = record.source();
  std::uint32_t count = 0;
  for (std::size_t at = 0; at != length; ++count) {
    std::uint64_t word = 0;
    if (length - at >= sizeof word) std::memcpy(&word, record.payload() + at, sizeof word);
    const auto size = static_cast<std::size_t>(low_of(word));
    if (length - at < sizeof word || session::bytes_of(size) > length - at)
      fail("PE {} has sent a bundle of messages that cannot be", source);
    const am_handler handler = handler_of(me, high_of(word), source);
    handler.function(record.payload() + at + sizeof word, size, handler.args_r, args_p, source);
    at += session::bytes_of(size);
  }
  return count;
}

}  // namespace

// Counts messages while they are handled, and tells each source how many of its messages have been: when the next source's
// turn comes, and before a handler waits. Other threads of the PE handle none meanwhile.
class handled_counts {
 public:
  explicit handled_counts(pe_state& me) : me_(me) {
    me.messages.being_handled = this;
    if (me.rank.home->is_shared()) me.messages.handled_by = this_thread();
  }
  ~handled_counts() {
    tell();
    me_.messages.being_handled = nullptr;
    me_.messages.handled_by = nullptr;
    // Other threads could handle none meanwhile.
    if (source_ != -1 && me_.rank.home->has_attached_thread()) me_.rank.home->notify();
  }
  handled_counts(const handled_counts&) = delete;
  handled_counts& operator=(const handled_counts&) = delete;
  void add(int source, std::size_t bytes, std::uint32_t messages) {
    if (source != source_) tell();
    source_ = source;
    count_ += messages;
    bytes_ += bytes;
  }
  void tell() {
    if (count_ == 0) return;
    me_.messages.handled += count_;
    if (pe_state* const to = me_.pes[source_]; to != nullptr) {
      // A PE that sees this count sees what the handlers did.
      to->messages.sent_and_handled.add(count_);
      if (to->rank.home != me_.rank.home) to->rank.home->notify();
    } else {
      tell_handled_far(me_, source_, count_, bytes_);
    }
    bytes_ = 0;
    count_ = 0;
  }

 private:
  pe_state& me_;
  int source_ = -1;
  std::uint64_t count_ = 0;
  std::size_t bytes_ = 0;
};

void tell_handled(pe_state& me) {
  if (me.messages.being_handled != nullptr) me.messages.being_handled->tell();
  tell_owed(me);
}

namespace {

// A message has come from that PE, for which an answer is likely.
void expect_answer(const pe_state& me, int source) noexcept {
  if (const pe_state* const to = me.pes[source]; to != nullptr)
    if (const am_queue* const queue =
            to->messages.storage[static_cast<std::size_t>(me.rank.home->index())].get())
      queue->expect_answer();
}

// How many messages one poll handles from one worker, so that it comes to an end.
constexpr int polled_max = 4096;

}  // namespace

namespace {

int handle_what_has_come(pe_state& me, void* args_p) {
  if (me.messages.being_handled != nullptr) return 0;
  int done = 0;
  me.messages.has_sent_far = false;
  const bool is_watched = races_of(me) != nullptr;
  for (std::size_t from = 0; from < me.messages.from.size(); ++from) {
    am_queue* const queue = me.messages.from[from].value();
    if (queue == nullptr) continue;
    handled_counts counts(me);
    int in_a_row = 0;
    for (int left = polled_max; left > 0; --left) {
      std::size_t retired = 0;
      am_record* const record = queue->front(retired);
      if (retired != 0) [[unlikely]] {
        me.messages.bytes.fetch_sub(retired, std::memory_order_relaxed);
        worker& writer = me.rank.home->owner().at(static_cast<int>(from));
        if (&writer != me.rank.home) writer.notify();
      }
      if (record == nullptr) break;
      if (is_watched) [[unlikely]]
        note_learnt(me);
      const std::uint64_t word = record->word.hint();  // Seen by front().
      const std::size_t length = static_cast<std::uint32_t>(word) - 1;
      const int source = record->source();
      if (in_a_row++ != 0)
        queue->fetch_ahead();
      else
        expect_answer(me, source);
      const auto id = static_cast<std::uint32_t>(word >> 32);
      std::uint32_t messages = 1;
      if (id != bundle_id) [[likely]]
        handle(me, *record, word, args_p);
      else
        messages = handle_bundle(me, *record, length, args_p);
      queue->pop(am_queue::record_bytes(length));
      if (id == reply_id) continue;
      done += static_cast<int>(messages);
      counts.add(source, am_queue::taken_bytes(length), messages);
    }
  }
  if (me.messages.has_sent_far) [[unlikely]]
    send_what_handlers_sent(me);
  return done;
}

}  // namespace

// An error is reported here, before the frames of the call unwind, which may have begun what others take part in.
int handle_all(pe_state& me, const char* call, void* args_p) {
  try {
    return handle_what_has_come(me, args_p);
  } catch (const std::exception&) {
    end_in_error(call);
  }
}

// Whether there is a message that the caller may handle.
bool has_message(const pe_state& me) noexcept {
  if (me.messages.being_handled != nullptr) return false;
  for (const auto& from : me.messages.from)
    if (const am_queue* const queue = from.value(); queue != nullptr && queue->has_record())
      return true;
  return false;
}

namespace {

int first_free_id(const pe_state& me) {
  const auto free = std::find_if(me.messages.handlers.begin(), me.messages.handlers.end(),
                                 [](const am_handler& h) { return h.function == nullptr; });
  return static_cast<int>(free - me.messages.handlers.begin()) + 1;
}

void set_handler_at(pe_state& me, int id, am_handler handler) {
  if (static_cast<std::size_t>(id) > am_handlers_max)
    fail("a PE may have {} handlers: reset those that are not needed", am_handlers_max);
  if (static_cast<std::size_t>(id) > me.messages.handlers.size())
    me.messages.handlers.resize(static_cast<std::size_t>(id));
  me.messages.handlers[static_cast<std::size_t>(id) - 1] = handler;
}

}  // namespace

void am_set_handler(const char* call, shmemx_am_handler_t function, void* args_r, int* id) {
  in_call(call, [&](pe_state& me) {
    if (id == nullptr) fail("id is a null pointer: pass the address of an int");
    if (function != nullptr) {
      const int own = first_free_id(me);
      set_handler_at(me, own, {function, args_r});
      *id = own;
      return;
    }
    if (*id < 1 || static_cast<std::size_t>(*id) > me.messages.handlers.size() ||
        me.messages.handlers[static_cast<std::size_t>(*id) - 1].function == nullptr)
      fail("*id is {}, under which no handler is set: pass one that was returned here", *id);
    auto& handlers = me.messages.handlers;
    handlers[static_cast<std::size_t>(*id) - 1] = {};
    // The next handler that all PEs set may have the id again.
    while (!handlers.empty() && handlers.back().function == nullptr) handlers.pop_back();
  });
}

void am_set_handler_all(const char* call, shmemx_am_handler_t function, void* args_r, int* id) {
  in_call(call, [&](pe_state& me) {
    check_not_in_handler(me);
    if (function == nullptr || id == nullptr)
      fail("{} is a null pointer", function == nullptr ? "handler" : "id");
    const int agreed = world_team(me).ranks->allreduce(
        static_cast<int>(me.messages.handlers.size()) + 1, weft::max{});
    set_handler_at(me, agreed, {function, args_r});
    *id = agreed;
    meet(me, world_team(me), call);
  });
}

namespace {

// Whether anything came.
bool look_at_network(pe_state& me) noexcept {
  event_source* const network = me.rank.home->events();
  if (network == nullptr) return false;
  const kept_errno kept;
  return network->poll_cheap();
}

}  // namespace

int am_poll(const char* call, void* args_p) {
  return in_call(call, [&](pe_state& me) {
    check_not_in_handler(me);
    tell_owed(me);
    int done = handle_all(me, call, args_p);
    // A loop of polls lets others run, whether it finds messages or not: now and then all, and those of this worker that
    // are ready with each poll that finds no message before it looks at the network.
    const bool is_turn_of_others = me.messages.polls++ % 16 == 0;
    if (done != 0 && !is_turn_of_others) return done;
    send_all_gathered(me, call);
    // What other processes have sent is seen when the network is looked at.
    if (done == 0 && look_at_network(me)) done = handle_all(me, call, args_p);
    if (is_turn_of_others || me.rank.home->has_ready()) me.rank.home->yield();
    return done + handle_all(me, call, args_p);
  });
}

void am_wait(const char* call, void* args_p) {
  in_call(call, [&](pe_state& me) {
    begin_meeting(me);
    do wait_for_message(me, call, []() noexcept { return false; });
    while (handle_all(me, call, args_p) == 0);  // Only a reply had come.
  });
}

}  // namespace weft::shmem
