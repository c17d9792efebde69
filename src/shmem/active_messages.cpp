#include "shmem/active_messages.hpp"

#include <algorithm>
#include <cstring>

#include "job/accounted_call.hpp"
#include "rank/matching.hpp"
#include "runtime/network.hpp"
#include "shmem/core.hpp"

namespace weft::shmem {

// --- Sending ------------------------------------------------------------------------------------
namespace {

// Ids of weft's own.
constexpr std::uint32_t reply_id = 0x7fff'ffff;
constexpr std::uint32_t bundle_id = 0x7fff'fffe;

am_queue& queue_to(const worker& writer, pe_state& to) {
  const auto own = static_cast<std::size_t>(writer.index());
  std::unique_ptr<am_queue>& mine = to.messages.storage[own];  // Only this worker's ranks write it.
  if (mine == nullptr) {
    mine = std::make_unique<am_queue>();
    to.messages.from[own].publish(mine.get());
  }
  return *mine;
}

// False when the target's queue is full; then nothing has been done.
bool try_write(pe_state& me, pe_state& to, std::uint32_t id, std::uint32_t call,
               const void* payload, std::size_t length) {
  am_queue& queue = queue_to(*me.rank.home, to);
  const std::size_t bytes = am_queue::record_bytes(length);
  am_record* record = queue.try_reserve(bytes);
  if (record == nullptr) [[unlikely]] {
    const std::size_t chunk = am_queue::chunk_bytes_for(bytes);
    // Relaxed: a count. Of one empty queue a message is taken whatever its size.
    const std::size_t before = to.messages.bytes.fetch_add(chunk, std::memory_order_relaxed);
    if (before != 0 && before + chunk > to.settings.am_queue_bytes) {
      to.messages.bytes.fetch_sub(chunk, std::memory_order_relaxed);
      return false;
    }
    queue.new_chunk(chunk);
    record = queue.try_reserve(bytes);
  }
  record->set_sender(me.number, call);
  if (length != 0) std::memcpy(record->payload(), payload, length);
  queue.publish(*record, id, length);
  worker* const there = to.rank.home;
  if (there != me.rank.home) there->notify();
  return true;
}

struct full_queue final : detail::wait_words {
  const pe_state& to;
  explicit full_queue(const pe_state& t) : to(t) {}
  [[nodiscard]] std::string text() const override {
    return formatted(
        ", until PE {} reads some of its {} MiB of unread active messages (SHMEMX_AM_QUEUE_SIZE is the "
        "limit)",
        to.number, to.messages.bytes.load(std::memory_order_relaxed) >> 20);
  }
};

void write(pe_state& me, const char* name, pe_state& to, std::uint32_t id, std::uint32_t call,
           const void* payload, std::size_t length) {
  while (!try_write(me, to, id, call, payload, length)) {
    const std::size_t limit = to.settings.am_queue_bytes;
    const std::size_t needed = am_queue::chunk_bytes_for(am_queue::record_bytes(length));
    const full_queue words(to);
    wait_description said{name};
    said.context = wait_description::in_words;
    said.subject = static_cast<const detail::wait_words*>(&words);
    tell_handled(me);
    me.rank.home->wait_until(
        [&]() noexcept {
          const std::size_t now = to.messages.bytes.load(std::memory_order_relaxed);
          return now == 0 || now + needed <= limit;
        },
        said);
  }
}

// --- To other processes -----------------------------------------------------------------------------
//
//            tag                          head[0]          head[1]           data
//   part     message's length, offset     id, target       call, source      the bytes from there on
//   handled  bytes of those              -, source        target            how many

[[nodiscard]] std::uint64_t two(std::uint64_t high, std::uint64_t low) noexcept {
  return high << 32 | low;
}
[[nodiscard]] std::uint32_t high_of(std::uint64_t both) noexcept {
  return static_cast<std::uint32_t>(both >> 32);
}
[[nodiscard]] std::uint32_t low_of(std::uint64_t both) noexcept {
  return static_cast<std::uint32_t>(both);
}

comm::address address_of(const pe_state& me, int pe) noexcept {
  const detail::rank_place& there = me.rank.of->places[static_cast<std::size_t>(pe)];
  return {there.process, there.worker};
}
process_state& process_of(const pe_state& me) noexcept {
  return static_cast<process_state&>(*me.rank.of->faces[face_slot]);
}

// What one PE may have unread at a PE of another process.
std::size_t far_share(const pe_state& me) noexcept {
  return std::max(me.settings.am_queue_bytes / static_cast<std::size_t>(me.size),
                  am_queue::record_bytes(me.settings.am_payload_bytes));
}

void post_far(pe_state& me, const char* name, int pe, const comm::am& what) {
  worker& here = *me.rank.home;
  port& p = network::of(here);
  p.count_sent(what.to.process);
  const auto post = [&] { return comm::post(p.device(), what); };
  const auto describe = [&]() -> wait_description {
    return {name, wait_description::no_context, pe};
  };
  if (post_in_wait(here, post, describe) != status::failed) [[likely]]
    return;
  if (here.owner().stopping()) throw job_stopped{};
  fail("PE {} cannot be reached: its process {} is dead", pe, what.to.process);
}

[[nodiscard]] bool has_far_room(const pe_state& me, int pe, std::size_t bytes) noexcept {
  const auto number = static_cast<std::size_t>(pe);
  if (me.messages.unread_far.empty()) return true;
  if (me.messages.is_sending_far[number]) return false;
  const std::size_t unread = me.messages.unread_far[number];
  return unread == 0 || unread + bytes <= far_share(me);
}

void write_far(pe_state& me, const char* name, int pe, std::uint32_t id, std::uint32_t call,
               const void* payload, std::size_t length) {
  const std::size_t bytes = am_queue::record_bytes(length);
  const bool is_counted = id != reply_id;
  if (me.messages.unread_far.empty()) {
    me.messages.unread_far.resize(static_cast<std::size_t>(me.size));
    me.messages.is_sending_far.resize(static_cast<std::size_t>(me.size));
  }
  const auto number = static_cast<std::size_t>(pe);
  // The parts of one message follow one another, and threads of the PE may send while this one waits for room.
  const auto may_go = [&]() noexcept {
    return is_counted ? has_far_room(me, pe, bytes) : !me.messages.is_sending_far[number];
  };
  while (!may_go()) {
    tell_handled(me);
    me.rank.home->wait_until(may_go, {name, wait_description::no_context, pe});
  }
  const struct all_parts {
    std::vector<bool>::reference are_going;
    explicit all_parts(std::vector<bool>::reference flag) : are_going(flag) { are_going = true; }
    ~all_parts() { are_going = false; }
  } going(me.messages.is_sending_far[number]);
  if (is_counted) me.messages.unread_far[number] += bytes;
  comm::am made;
  made.to = address_of(me, pe);
  made.handler = process_of(me).part;
  made.head = {two(id, static_cast<std::uint32_t>(pe)),
               two(call, static_cast<std::uint32_t>(me.number))};
  const std::size_t most =
      network::of(*me.rank.home).device().eager_bytes_max(made.to.process, made.to.device);
  std::size_t done = 0;
  do {
    const std::size_t part = std::min(most, length - done);
    made.tag = two(length, done);
    made.data = std::span(static_cast<const std::byte*>(payload) + done, part);
    post_far(me, name, pe, made);
    done += part;
  } while (done < length);
}

[[gnu::cold]] void refuse(worker& here, const comm::event& happened, const char* why) noexcept {
  network::of(here).device().refuse(happened, why);
}

// The PE of this worker that a message names; null when there is none.
pe_state* pe_of(process_state& process, const worker& here, std::uint32_t number) noexcept {
  if (number >= process.pes.size()) return nullptr;
  pe_state* const pe = process.pes[number];
  return pe != nullptr && pe->rank.home == &here ? pe : nullptr;
}

// A record of weft's own worker, which writes into the queue as its PEs do. No limit: the sender keeps to its share.
am_record& reserve_here(worker& here, pe_state& to, std::size_t length) {
  am_queue& queue = queue_to(here, to);
  const std::size_t bytes = am_queue::record_bytes(length);
  am_record* record = queue.try_reserve(bytes);
  if (record == nullptr) {
    const std::size_t chunk = am_queue::chunk_bytes_for(bytes);
    to.messages.bytes.fetch_add(chunk, std::memory_order_relaxed);
    queue.new_chunk(chunk);
    record = queue.try_reserve(bytes);
  }
  return *record;
}

void on_part(process_state& process, worker& here, const comm::event& happened) {
  pe_state* const to = pe_of(process, here, low_of(happened.head[0]));
  const std::uint32_t id = high_of(happened.head[0]);
  const auto source = static_cast<int>(low_of(happened.head[1]));
  const std::size_t length = high_of(happened.tag), offset = low_of(happened.tag);
  if (to == nullptr || source < 0 || source >= to->size ||
      process.of.places[static_cast<std::size_t>(source)].process != happened.process ||
      length > am_payload_bytes_max || offset > length || happened.size > length - offset)
    return refuse(here, happened, "an active message that cannot be");
  auto& unfinished = to->messages.unfinished;
  auto of = std::find_if(unfinished.begin(), unfinished.end(),
                         [&](const am_unfinished& u) { return u.source == source; });
  if (offset == 0) {
    if (of != unfinished.end())
      return refuse(here, happened, "an active message inside of another one");
    am_record& record = reserve_here(here, *to, length);
    record.set_sender(source, high_of(happened.head[1]));
    of = unfinished.insert(unfinished.end(), {source, id, length, 0, &record});
  } else if (of == unfinished.end() || of->arrived != offset || of->length != length ||
             of->id != id) {
    return refuse(here, happened, "a part of no active message");
  }
  if (happened.size != 0) std::memcpy(of->record->payload() + offset, happened.data, happened.size);
  of->arrived += happened.size;
  if (of->arrived < length) return;
  queue_to(here, *to).publish(*of->record, id, length);
  unfinished.erase(of);
}

void on_handled(process_state& process, worker& here, const comm::event& happened) {
  pe_state* const to = pe_of(process, here, low_of(happened.head[0]));
  std::uint64_t count = 0;
  if (happened.size == sizeof count) std::memcpy(&count, happened.data, sizeof count);
  if (to == nullptr || happened.size != sizeof count || happened.head[1] >= process.pes.size() ||
      process.of.places[happened.head[1]].process != happened.process ||
      to->messages.unread_far.empty() || to->messages.unread_far[happened.head[1]] < happened.tag ||
      count > to->messages.sent - to->messages.sent_and_handled.value())
    return refuse(here, happened, "it tells of messages that were not sent");
  to->messages.unread_far[happened.head[1]] -= happened.tag;
  to->messages.sent_and_handled.add(count);
}

template <void (*Handle)(process_state&, worker&, const comm::event&)>
void call_handler(void* process, const comm::event& happened) noexcept {
  worker* const here = worker::current();
  if (here == nullptr) return;
  network::of(*here).count_received(happened.process);
  if (here->owner().stopping()) return;
  Handle(*static_cast<process_state*>(process), *here, happened);
}

void note_message(const pe_state& me, int pe, std::size_t length) {
  if (!tracing()) return;
  accounts::put(me.number, pe, length);
  accounts::leave_cause(me.number, accounts::key_of_queue(pe));
}

void write_to(pe_state& me, const char* name, int pe, std::uint32_t id, std::uint32_t call,
              const void* payload, std::size_t length) {
  note_message(me, pe, length);
  if (pe_state* const to = me.pes[pe]; to != nullptr)
    write(me, name, *to, id, call, payload, length);
  else
    write_far(me, name, pe, id, call, payload, length);
}

void check_message(pe_state& me, int id, const void* payload, std::size_t length) {
  if (id < 1 || static_cast<std::size_t>(id) > am_handlers_max)
    fail("id {}: pass one that shmemx_am_set_handler has returned on the target", id);
  if (length > me.settings.am_payload_bytes)
    fail(
        "length {}: a payload may have {} bytes (SHMEMX_AM_PAYLOAD_MAX_SIZE is {}; SHMEMX_AM_PAYLOAD_MAX in the "
        "environment raises what is accepted); put more, and send where it lies",
        length, me.settings.am_payload_bytes, SHMEMX_AM_PAYLOAD_MAX_SIZE);
  if (payload == nullptr && length != 0)
    fail("payload is a null pointer: pass where {} bytes are", length);
}

// --- Handling -----------------------------------------------------------------------------------

void finish_call(pe_state& me, const am_record& reply, const std::byte* data, std::size_t length) {
  if (reply.call() == 0 || reply.call() > me.messages.calls.size() ||
      me.messages.calls[reply.call() - 1] == nullptr)
    return;
  if (me.messages.calls[reply.call() - 1]->pe != reply.source()) return;
  am_call_slot& slot = *std::exchange(me.messages.calls[reply.call() - 1], nullptr);
  slot.length = length;
  std::memcpy(slot.reply, data, std::min(length, slot.reply_max));
  slot.done = true;
}

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

// Of a bundle, each message of it. Returns how many there were. It may be of another process, and is not believed.
std::uint32_t handle_bundle(pe_state& me, am_record& record, std::size_t length, void* args_p) {
  const running in(me, record);
  const int source = record.source();
  std::uint32_t count = 0;
  for (std::size_t at = 0; at != length; ++count) {
    std::uint64_t word = 0;
    if (length - at >= sizeof word) std::memcpy(&word, record.payload() + at, sizeof word);
    const auto size = static_cast<std::size_t>(low_of(word));
    if (length - at < sizeof word || am_bundle::bytes_of(size) > length - at)
      fail("PE {} has sent a bundle of messages that cannot be", source);
    const am_handler handler = handler_of(me, high_of(word), source);
    handler.function(record.payload() + at + sizeof word, size, handler.args_r, args_p, source);
    at += am_bundle::bytes_of(size);
  }
  return count;
}

}  // namespace

// While messages are handled. Tells the sources how many of theirs have been: a source at a time, and before a handler
// waits. Other threads of the PE handle none meanwhile.
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
    // Who could handle none meanwhile.
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
      // What the handlers did is seen by whoever is told that they have run.
      to->messages.sent_and_handled.add(count_);
      if (to->rank.home != me_.rank.home) to->rank.home->notify();
    } else {
      tell_far();
    }
    bytes_ = 0;
    count_ = 0;
  }

 private:
  void tell_far() {
    comm::am made;
    made.to = address_of(me_, source_);
    made.handler = process_of(me_).handled;
    made.tag = bytes_;
    made.head = {static_cast<std::uint32_t>(source_), static_cast<std::uint32_t>(me_.number)};
    made.data = std::as_bytes(std::span(&count_, 1));
    made.allow.retry = false;
    port& p = network::of(*me_.rank.home);
    p.count_sent(made.to.process);
    (void)comm::post(p.device(), made);  // A dead process need not know.
  }
  pe_state& me_;
  int source_ = -1;
  std::uint64_t count_ = 0;
  std::size_t bytes_ = 0;
};

void tell_handled(pe_state& me) {
  if (me.messages.being_handled != nullptr) me.messages.being_handled->tell();
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

int handle_all(pe_state& me, void* args_p) {
  if (me.messages.being_handled != nullptr) return 0;
  int done = 0;
  for (std::size_t from = 0; from < me.messages.from.size(); ++from) {
    am_queue* const queue = me.messages.from[from].value();
    if (queue == nullptr) continue;
    handled_counts told(me);
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
      told.add(source, am_queue::record_bytes(length), messages);
    }
  }
  return done;
}

// That the caller may handle.
bool has_message(const pe_state& me) noexcept {
  if (me.messages.being_handled != nullptr) return false;
  for (const auto& from : me.messages.from)
    if (const am_queue* const queue = from.value(); queue != nullptr && queue->has_record())
      return true;
  return false;
}

template <class Holds>
void wait_for_message(pe_state& me, const char* call, const Holds& or_when) {
  const auto is_over = [&]() noexcept { return has_message(me) || or_when(); };
  if (!tracing() || detail::goes_on_beside(*me.rank.home)) [[likely]]
    return me.rank.home->wait_until(is_over, {call});
  if (is_over()) return;
  struct counted_wait {
    const pe_state& me;
    counted_wait(const pe_state& pe, const char* name) : me(pe) {
      accounts::begin_caused_wait(me.number, trace_kind::wait_memory, name);
    }
    ~counted_wait() {
      const std::uint64_t key = accounts::key_of_queue(me.number);
      accounts::end_caused_wait(me.number, trace_kind::wait_memory,
                                accounts::wait_state::late_sender, std::span(&key, 1));
    }
  } const counted(me, call);
  me.rank.home->wait_until(is_over, {call});
}

bool all_handled(const pe_state& me) noexcept {
  return me.messages.sent_and_handled.value() == me.messages.sent;
}

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

// What the session of the default context has gathered for that PE; null: nothing.
am_bundle* gathered_for(pe_state& me, int pe) noexcept {
  if (me.gathers == nullptr) return nullptr;
  am_bundle* const bundle = me.gathers->bundles[static_cast<std::size_t>(pe)].get();
  return bundle != nullptr && !bundle->is_empty() ? bundle : nullptr;
}
// In front of a message that is not gathered goes what was. False: it would have to wait.
bool try_send_gathered_before(pe_state& me, const char* call, int pe) {
  am_bundle* const bundle = gathered_for(me, pe);
  if (bundle == nullptr) return true;
  pe_state* const to = me.pes[pe];
  if (to == nullptr) {
    if (!has_far_room(me, pe, am_queue::record_bytes(bundle->size()))) return false;
    send_bundle(me, call, pe, *bundle);
    return true;
  }
  if (!try_write(me, *to, bundle_id, 0, bundle->data(), bundle->size())) return false;
  (void)bundle->take();
  return true;
}

void send(pe_state& me, const char* call, shmem_ctx_t handle, int id, const void* payload,
          std::size_t length, int pe) {
  check_message(me, id, payload, length);
  context* const c = checked_context(me, handle);
  const int number = checked_pe(me, c, pe);
  session* const gathers = c == nullptr ? me.gathers.get() : c->gathers.get();
  const auto named = static_cast<std::uint32_t>(id);
  ++me.messages.sent;  // Before: it may have been handled when the call comes back from a wait.
  if (gathers == nullptr) {
    write_to(me, call, number, named, 0, payload, length);
  } else if (length > am_gathered_bytes_max || !gathers->try_add(number, named, payload, length)) {
    // In front of it goes what was sent before.
    if (auto& bundle = gathers->bundles[static_cast<std::size_t>(number)];
        bundle != nullptr && !bundle->is_empty())
      send_bundle(me, call, number, *bundle);
    if (length > am_gathered_bytes_max || !gathers->try_add(number, named, payload, length))
      write_to(me, call, number, named, 0, payload, length);
  }
  if (gathers != nullptr) operations_of(me, c).note_gathered();
}

}  // namespace

void send_bundle(pe_state& me, const char* call, int pe, am_bundle& bundle) {
  // A thread of the PE may fill it again while this one waits for room.
  const std::size_t length = bundle.take();
  note_message(me, pe, length);
  if (pe_state* const to = me.pes[pe];
      to != nullptr && try_write(me, *to, bundle_id, 0, bundle.data(), length)) [[likely]]
    return;
  const std::vector<std::byte> copy(bundle.data(), bundle.data() + length);
  write_to(me, call, pe, bundle_id, 0, copy.data(), length);
}

void add_am_handlers(detail::face_handlers& handlers, process_state& of) {
  of.part = handlers.add(&call_handler<&on_part>, &of);
  of.handled = handlers.add(&call_handler<&on_handled>, &of);
}

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
    // The next one that all PEs set may have the id again.
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

// The session in which a message to that PE, which need not be one, is gathered; null: in none, or that takes a look.
[[gnu::always_inline]] static inline session* session_of(const pe_state& me, shmem_ctx_t handle,
                                                         int pe) noexcept {
  if (handle == SHMEM_CTX_DEFAULT)
    return static_cast<unsigned>(pe) < static_cast<unsigned>(me.size) ? me.gathers.get() : nullptr;
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  const std::size_t index = (value & 0xffff'ffff) - 2;
  if (index >= me.contexts.size()) return nullptr;
  const context& c = *me.contexts[index];
  const bool is_known = c.of != nullptr && c.generation == value >> 32 && c.of->in_world.empty() &&
                        static_cast<unsigned>(pe) < static_cast<unsigned>(c.of->size());
  return is_known ? c.gathers.get() : nullptr;
}

void am_send(const char* call, shmem_ctx_t handle, int id, const void* payload, std::size_t length,
             int pe) {
  if (pe_state* const me = usable_state();
      me != nullptr && static_cast<unsigned>(id) - 1 < am_handlers_max && payload != nullptr &&
      !me->rank.home->is_shared()) [[likely]] {
    const auto named = static_cast<std::uint32_t>(id);
    if (me->sessions == 0) {
      if (handle == SHMEM_CTX_DEFAULT &&
          static_cast<unsigned>(pe) < static_cast<unsigned>(me->size) && me->pes[pe] != nullptr &&
          length <= SHMEMX_AM_PAYLOAD_MAX_SIZE &&
          try_write(*me, *me->pes[pe], named, 0, payload, length)) [[likely]] {
        ++me->messages.sent;
        return;
      }
    } else if (session* const gathers = session_of(*me, handle, pe);
               gathers != nullptr && length <= am_gathered_bytes_max &&
               gathers->try_add(pe, named, payload, length)) [[likely]] {
      if (handle == SHMEM_CTX_DEFAULT) me->operations.note_gathered();
      ++me->messages.sent;
      return;
    }
  }
  in_call(call, [&](pe_state& me) { send(me, call, handle, id, payload, length, pe); });
}

int am_try_send(const char* call, int id, const void* payload, std::size_t length, int pe) {
  return in_call(call, [&](pe_state& me) {
    check_message(me, id, payload, length);
    const int number = checked_pe(me, nullptr, pe);
    if (!try_send_gathered_before(me, call, number)) return 0;
    if (pe_state* const to = me.pes[number]; to != nullptr) {
      if (!try_write(me, *to, static_cast<std::uint32_t>(id), 0, payload, length)) return 0;
      ++me.messages.sent;
    } else {
      if (!has_far_room(me, number, am_queue::record_bytes(length))) return 0;
      ++me.messages.sent;
      write_far(me, call, number, static_cast<std::uint32_t>(id), 0, payload, length);
    }
    note_message(me, number, length);
    return 1;
  });
}

int am_poll(const char* call, void* args_p) {
  return in_call(call, [&](pe_state& me) {
    check_not_in_handler(me);
    if (const int done = handle_all(me, args_p); done != 0) return done;
    send_all_gathered(me, call);
    // A loop of polls lets others run: those of this worker at once, all others now and then.
    if (me.rank.home->has_ready() || me.messages.empty_polls++ % 16 == 0) me.rank.home->yield();
    return handle_all(me, args_p);
  });
}

void am_wait(const char* call, void* args_p) {
  in_call(call, [&](pe_state& me) {
    begin_meeting(me);
    do wait_for_message(me, call, []() noexcept { return false; });
    while (handle_all(me, args_p) == 0);  // A reply only.
  });
}

void am_reply(const char* call, const void* data, std::size_t length) {
  in_call(call, [&](pe_state& me) {
    const void* const by = me.messages.handled_by;  // Null where the PE has no threads.
    const am_record* const to =
        by == nullptr || by == this_thread() ? me.messages.replies_to : nullptr;
    if (to == nullptr) fail("called outside of handlers: there is nothing to reply to");
    if (to->call() == 0)
      fail("PE {} has sent this message by shmemx_am_send_nbi, which wants no reply", to->source());
    if (me.messages.replied) fail("called twice in one handler: a message has one reply");
    if (length > me.settings.am_payload_bytes)
      fail("length {}: a reply may have {} bytes", length, me.settings.am_payload_bytes);
    me.messages.replied = true;
    write_to(me, call, to->source(), reply_id, to->call(), data, length);
  });
}

std::size_t am_call(const char* call, int id, const void* payload, std::size_t length, int pe,
                    void* reply, std::size_t reply_max, void* args_p) {
  return in_call(call, [&](pe_state& me) {
    check_not_in_handler(me);
    check_message(me, id, payload, length);
    const int target = checked_pe(me, nullptr, pe);
    am_call_slot slot{reply, reply_max, target};
    auto& calls = me.messages.calls;
    auto place = std::find(calls.begin(), calls.end(), nullptr);
    if (place == calls.end()) place = calls.emplace(place);
    *place = &slot;
    const auto number = static_cast<std::uint32_t>(place - calls.begin()) + 1;
    if (am_bundle* const bundle = gathered_for(me, target); bundle != nullptr)
      send_bundle(me, call, target, *bundle);
    ++me.messages.sent;
    write_to(me, call, target, static_cast<std::uint32_t>(id), number, payload, length);
    while (!slot.done) {
      send_all_gathered(me, call);
      wait_for_message(me, call, [&]() noexcept { return slot.done; });
      (void)handle_all(me, args_p);
    }
    if (slot.length > reply_max)
      fail("PE {} has replied with {} bytes, of which {} have room: pass a larger reply_max", pe,
           slot.length, reply_max);
    return slot.length;
  });
}

void am_quiet(const char* call, void* args_p) {
  in_call(call, [&](pe_state& me) {
    check_not_in_handler(me);
    while (!all_handled(me)) {
      send_all_gathered(me, call);  // Handlers may have sent, too.
      wait_for_message(me, call, [&]() noexcept { return all_handled(me); });
      (void)handle_all(me, args_p);
    }
  });
}

// All have been handled when two counts in a row are the same, with as many handled as sent: a message that was under
// way at the first has been handled by the second, or made it differ.
void am_barrier_all(const char* call, void* args_p) {
  in_call(call, [&](pe_state& me) {
    check_not_in_handler(me);
    const communicator& all = *world_team(me).ranks;
    send_all_gathered(me, call);
    me.memory->quiet(me.operations);
    struct counts {
      std::uint64_t sent, handled;
    };
    const auto sum = [](const counts& a, const counts& b) {
      return counts{a.sent + b.sent, a.handled + b.handled};
    };
    counts before{0, 1};
    for (;;) {
      while (handle_all(me, args_p) != 0) {
      }
      send_all_gathered(me, call);
      const counts mine{me.messages.sent, me.messages.handled};
      counts now{};
      // Meanwhile others may wait for handlers of this PE before they come.
      request adding = all.iallreduce(mine, now, sum);
      const auto is_complete = [&]() noexcept { return adding.started()->complete; };
      while (!is_complete()) {
        wait_for_message(me, call, is_complete);
        (void)handle_all(me, args_p);
        send_all_gathered(me, call);
      }
      adding.wait();
      if (now.sent == now.handled && now.sent == before.sent && now.handled == before.handled)
        break;
      before = now;
    }
    // What a PE sends that has left is not handled in here.
    meet(me, world_team(me), call);
  });
}

std::size_t am_payload_max(const char* call) {
  return in_call(call, [](pe_state& me) { return me.settings.am_payload_bytes; });
}

}  // namespace weft::shmem
