// What the files of the message path share: the fast path of a message, which is inlined into the call that takes it,
// and the functions of the longer ways.
//
// Everything here runs on the home worker of the rank that it is given: of the sender in a send, of the receiver in a
// delivery.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "profile/accounts.hpp"
#include "profile/stages.hpp"
#include "rank/communicator_state.hpp"
#include "rank/segment_copy.hpp"
#include "rank/state.hpp"
#include "trace/trace.hpp"

namespace weft::detail {

// A call through the communicator object of another rank would act in that rank's place: it is refused.
[[noreturn, gnu::cold]] void throw_not_own(const communicator_state& c, int rank,
                                           const rank_state& me, const char* call);
[[gnu::always_inline]] inline void check_is_own(const communicator_state& c, int rank,
                                                const rank_state& me, const char* call) {
  if (c.members[static_cast<std::size_t>(rank)].rank != &me) [[unlikely]]
    throw_not_own(c, rank, me, call);
}

// The data of a send: bytes in a row, or a layout (segments). A function that takes either is a template, so that bytes
// in a row cost no branch.
using byte_view = std::span<const std::byte>;

// --- Delivery (delivery.cpp) ---------------------------------------------------------------------
// Tells senders when more unexpected bytes wait at `r` than the limit, and when no longer. Called after each change.
void set_congestion(rank_state& r) noexcept;
void free_unexpected(rank_state& at, unexpected_message* m) noexcept;
// As free_unexpected(), also for the rendezvous request of another process: nobody answers it.
void drop_unexpected(rank_state& at, unexpected_message* m) noexcept;
// Frees a message that nobody will receive. The sender of a rendezvous request is told that it failed.
void refuse(worker& here, rank_state& at, unexpected_message* m);
// Of refuse(), for a request of a rank of this process.
void refuse_of_process(worker& here, const rendezvous_request& rts);
// Frees all that a rank has left behind, when its job is over.
void free_messages_of(rank_state& r) noexcept;
// Receives `m`, which is out of the lists, into `op`, and frees it.
void receive_unexpected(worker& here, operation& op, unexpected_message* m);
// Tells the sender of a rendezvous request that its data are no longer needed.
void finish_rendezvous(worker& here, const rendezvous_request& rts);
void send_eager(worker& here, const peer& to, packed_envelope from, byte_view data);
void send_eager(worker& here, const peer& to, packed_envelope from, const segments& data);
// Copies as much of `data` as fits into the memory of a receive; one side or both have a layout.
void fill_laid_out(const operation& op, const segments& data);
// take_or_keep() puts a short message for a rank of this worker into the posted receive that matches, or keeps it as
// unexpected. deliver_into() puts it into a receive that is out of the lists.
[[gnu::noinline]] void take_or_keep(worker& here, rank_state& to, packed_envelope from,
                                    byte_view data);
void take_or_keep(worker& here, rank_state& to, packed_envelope from, const segments& data);
[[gnu::noinline]] void deliver_into(worker& here, operation& op, packed_envelope from,
                                    byte_view data);
void deliver_into(worker& here, operation& op, packed_envelope from, const segments& data);
// Receives the oldest unexpected message that `op` matches; false: there is none.
[[nodiscard, gnu::noinline]] bool find_unexpected(rank_state& me, operation& op);
// Offers a message that stays in place until its receiver has copied it. Short blocks that lie apart are packed first where
// that receiver is on another core of the process: it would take a cache line for each. What was packed is freed when the
// send completes.
void send_rts(worker& here, const peer& to, const envelope& from, operation& op);
// Asks the worker of rank `to` for an answer, which raises finishes_told. Mail keeps its order, so all rendezvous
// requests that the worker finished before have then been told. A dead process does not answer.
void ask_finished(rank_state& me, const peer& to);
// Asks for a rendezvous request back. If nothing has matched it, the operation completes as withdrawn; else it
// completes as usual.
void ask_back(worker& here, const peer& to, operation& op);
void complete_withdrawn(worker& here, operation& op) noexcept;
// Drops the oldest unmatched rendezvous request for which is_wanted(request) is true; false when there is none.
template <class Wanted>
[[nodiscard]] bool drop_rts(rank_state& at, const Wanted& is_wanted) {
  unexpected_message* m = at.lists.oldest();
  while (m != nullptr && !(m->rts && is_wanted(m->rts))) m = match_lists::after(*m);
  if (m == nullptr) return false;
  at.lists.remove(*m);
  set_congestion(at);
  drop_unexpected(at, m);
  return true;
}

// --- Other processes (remote.cpp, remote_deaths.cpp) -------------------------------------------
// Sends a short message. False: it is too long, or has to go by a rendezvous request; nothing has been sent.
bool send_remote(rank_state& me, const peer& to, packed_envelope from, byte_view data,
                 send_mode mode);
bool send_remote(rank_state& me, const peer& to, packed_envelope from, const segments& data,
                 send_mode mode);
// Starts the matching receive of a rendezvous request, of this process or another, or keeps the request as unexpected.
void deliver_rts(worker& here, rank_state& to, const envelope& from, const rendezvous_request& rts);
// Delivers a message from another process, short or a rendezvous request, of a communicator that is not known here. If
// a receive is posted, the communicator has ended and its receives go on. Otherwise it has not been made yet:
// `sender` is kept and checked when it is.
void deliver_early(worker& here, rank_state& to, const envelope& from, byte_view data,
                   const rendezvous_request& rts, early_sender sender);

// Why a message that `wanted` matches will never come, or may never.
enum class loss : std::uint8_t {
  none,
  dead,  // Its sender is dead, all that came from it has been delivered here, and the job goes on (on-failure error).
  unacknowledged,  // It may come from any rank, of which some are dead, and the receiver has not acknowledged that.
  revoked,  // Its communicator is revoked.
};
[[nodiscard]] loss loss_of(const rank_state& me, const envelope& wanted);
[[nodiscard]] inline bool is_lost(const rank_state& me, const envelope& wanted) {
  return loss_of(me, wanted) != loss::none;
}
// Called where the ranks of `here` have operations on a revoked communicator: these end.
void end_operations_of_revoked(worker& here, communicator_state& c);
// The ranks of `c` that `rank` knows to be dead.
known_failures& failures_known_to(communicator_state& c, int rank);

// --- Probing (probing.cpp) -----------------------------------------------------------------------
// Waits for a message and returns the oldest that `wanted` matches; it stays in the lists. Null when is_lost().
[[nodiscard]] unexpected_message* wait_for_message(rank_state& me, const envelope& wanted,
                                                   const char* call);
// As wait_for_message() without waiting; null when there is none, after other ranks of the worker have had their turn.
[[nodiscard]] unexpected_message* look_for_message(rank_state& me, const envelope& wanted);

// --- Requests (requests.cpp) ---------------------------------------------------------------------
// Puts back an operation from take_kept(), to be used again.
void free_kept(rank_state& of, kept_operation* op) noexcept;
[[nodiscard]] std::string text_of_bad_result(const operation& op);
[[gnu::cold]] void throw_bad_result(const operation& op);  // Truncated, or the partner has died.
// Why an operation has failed: its partner's process is dead, or may be, or something else is wrong.
struct reason_of_failure {
  loss what;         // none: not known.
  const char* text;  // Follows "its process".
};
[[nodiscard]] reason_of_failure reason_of(const operation& op);
// An operation for take_operation() when there is none to use again. In a checked job it is always called and returns a
// kept operation, which the checks can follow.
[[nodiscard, gnu::noinline]] operation* new_operation(rank_state& me);

// --- Checks (send_receive.cpp) -------------------------------------------------------------------
[[gnu::cold]] void wrong_rank(communicator_state& c, int rank, const char* call, const char* what);
[[gnu::cold]] void wrong_tag(int tag, const char* call);

inline void check_destination(communicator_state& c, int to, int tag, const char* call) {
  if (!c.has(to)) [[unlikely]]
    wrong_rank(c, to, call, "to");
  if (tag < 0) [[unlikely]]
    wrong_tag(tag, call);
}
inline void check_source(communicator_state& c, int from, int tag, const char* call) {
  if (!c.has(from) && from != any_source) [[unlikely]]
    wrong_rank(c, from, call, "from");
  if (tag < 0 && tag != any_tag) [[unlikely]]
    wrong_tag(tag, call);
}
// Whether a message was truncated or its operation failed. The result of a send that went well has 0 bytes.
inline bool is_bad(const operation& op) noexcept {
  return op.result.bytes > op.bytes;
}
inline void check_result(const operation& op) {
  if (is_bad(op)) [[unlikely]]
    throw_bad_result(op);
}

// --- The fast path -------------------------------------------------------------------------------
// 4, 8 or 16 bytes, the commonest sizes, which are copied without a call.
[[nodiscard]] constexpr bool are_words(std::size_t bytes) noexcept {
  return bytes == 4 || bytes == 8 || bytes == 16;
}
[[gnu::always_inline]] inline void copy_words(void* to, const void* from, std::size_t bytes) {
  if (bytes == 8) [[likely]]
    std::memcpy(to, from, 8);
  else if (bytes == 16)
    std::memcpy(to, from, 16);
  else
    std::memcpy(to, from, 4);
}
[[gnu::always_inline]] inline void copy_short(void* to, const void* from, std::size_t bytes) {
  if (are_words(bytes)) [[likely]]
    copy_words(to, from, bytes);
  else if (bytes != 0)
    std::memcpy(to, from, bytes);
}

// Copies all of `data` to `to`, in a row.
[[gnu::always_inline]] inline void copy_out(std::byte* to, byte_view data) {
  copy_short(to, data.data(), data.size());
}
inline void copy_out(std::byte* to, const segments& data) {
  copy_segments(segments({to, data.size()}), data, 0, data.size());
}

// Copies as much of `data` as fits into the memory of a receive.
[[gnu::always_inline]] inline void fill(const operation& op, byte_view data) {
  if (op.layout != nullptr) [[unlikely]]
    fill_laid_out(op, segments(data));
  else
    copy_short(op.data, data.data(), std::min(op.bytes, data.size()));
}
inline void fill(const operation& op, const segments& data) {
  fill_laid_out(op, data);
}

inline void complete(worker& here, operation& op) noexcept {
  op.complete = true;
  if (is_packed(op)) [[unlikely]]
    free_packed(op);
  if (kept_operation* kept = as_kept(&op); kept != nullptr && kept->detached) [[unlikely]] {
    op.owner->detached.remove(op);
    free_kept(*op.owner, kept);
    return;
  }
  if (op.counter != nullptr) here.complete(*op.counter);
}

// Completes a receive and makes its fiber ready. A receive is never detached, so this is complete() without that
// branch.
[[gnu::always_inline]] inline void tell_received(worker& here, operation& op) {
  op.complete = true;
  if (op.blocking)
    here.complete(static_cast<blocking_operation&>(op).arrival);
  else if (op.counter != nullptr)
    here.complete(*op.counter);
}
[[gnu::noinline]] void tell_received_traced(worker& here, operation& op);

// Source and tag are written as one word, as the waiter reads them: a load of one word from two stores waits for the
// store buffer.
[[gnu::always_inline]] inline void complete_receive(worker& here, operation& op,
                                                    packed_envelope from, std::size_t bytes) {
  static_assert(offsetof(message_status, source) == 0 && offsetof(message_status, tag) == 4);
  const std::uint64_t source_and_tag = from.source_and_tag();
  std::memcpy(static_cast<void*>(&op.result), &source_and_tag, sizeof source_and_tag);
  op.result.bytes = bytes;
  rank_counts& counts = op.owner->counts;
  ++counts.received;
  counts.received_bytes += bytes;
  if (tracing()) [[unlikely]]
    return tell_received_traced(here, op);
  tell_received(here, op);
}

// Whether `data` can be copied into the receive's memory as words: it fits, and there is no layout.
[[nodiscard, gnu::always_inline]] inline bool takes_words(const operation& op, byte_view data) {
  return op.bytes >= data.size() && op.layout == nullptr;
}
[[gnu::always_inline]] inline void give_words(worker& here, operation& op, packed_envelope from,
                                              byte_view data) {
  copy_words(op.data, data.data(), data.size());
  stages::pass(stages::point::copied);
  complete_receive(here, op, from, data.size());
  stages::pass(stages::point::told);
}
// The commonest case: the message is for the receive that was posted first. Takes that one out; null when it does not
// match or take words.
[[nodiscard, gnu::always_inline]] inline operation* take_first_for_words(rank_state& to,
                                                                         packed_envelope from,
                                                                         byte_view data) {
  operation* const first = to.lists.first_in_row();
  if (first == nullptr || !matches(first->match, from) || !takes_words(*first, data))
    return nullptr;
  to.lists.take_first_out_of_row();
  return first;
}
inline void note_sent(rank_state& me, std::size_t bytes) noexcept {
  ++me.counts.sent;
  me.counts.sent_bytes += bytes;
}
// Sends words to a rank of the same worker. False: its first receive does not match, and nothing has been done. Calls
// no function before its last line, so that the caller saves no registers.
[[nodiscard, gnu::always_inline]] inline bool give_words_same_worker(rank_state& me, rank_state& to,
                                                                     packed_envelope from,
                                                                     byte_view data) {
  operation* const first = take_first_for_words(to, from, data);
  if (first == nullptr) [[unlikely]]
    return false;
  stages::pass(stages::point::matched);
  note_sent(me, data.size());
  give_words(*me.home, *first, from, data);
  return true;
}
[[nodiscard]] bool deliver_words_behind_first(worker& here, rank_state& to, packed_envelope from,
                                              byte_view data);
// Delivers a message of 4, 8 or 16 bytes into a posted receive; false: no receive takes it. Inline for the first
// receive, by a call for a later one.
[[nodiscard, gnu::always_inline]] inline bool deliver_words(worker& here, rank_state& to,
                                                            packed_envelope from, byte_view data) {
  if (!are_words(data.size()) || to.lists.first_in_row() == nullptr) return false;
  operation* const first = take_first_for_words(to, from, data);
  if (first == nullptr) [[unlikely]]
    return deliver_words_behind_first(here, to, from, data);
  give_words(here, *first, from, data);
  return true;
}
inline bool deliver_words(worker&, rank_state&, packed_envelope, const segments&) {
  return false;
}

// Delivers a short message to a rank of this worker: into the posted receive, or kept as unexpected.
template <class Data>
[[gnu::always_inline]] inline void deliver(worker& here, rank_state& to, packed_envelope from,
                                           const Data& data) {
  if (!deliver_words(here, to, from, data)) [[unlikely]]
    take_or_keep(here, to, from, data);
}

// Whether a message within the process is copied at once, so that its sender need not wait.
inline bool goes_eager(const rank_state& me, const peer& to, std::size_t bytes, send_mode mode) {
  if (mode == send_mode::synchronous || to.rank->congested.load(std::memory_order_relaxed))
    return false;
  return bytes <= me.of->how.eager_max_bytes;
}
inline bool goes_eager(const rank_state& me, const peer& to, byte_view data, send_mode mode) {
  return goes_eager(me, to, data.size(), mode);
}
// Short blocks that lie apart each move a cache line to the receiver's core when it copies them from the sender's
// memory; in the mailbox they lie together. So longer messages of short blocks still go eager.
inline bool goes_eager(const rank_state& me, const peer& to, const segments& data, send_mode mode) {
  constexpr std::size_t lines_saved = 4;
  const std::size_t usual = me.of->how.eager_max_bytes;
  if (data.size() <= usual) return goes_eager(me, to, data.size(), mode);
  return data.size() <= std::min(lines_saved * usual, eager_bytes_max) &&
         to.worker != me.home->index() && has_short_blocks(data) && goes_eager(me, to, 0, mode);
}

// For the timeline and the accounts (send_receive.cpp).
[[gnu::cold]] void trace_send(const rank_state& me, const peer& to, const envelope& from,
                              std::size_t bytes);
inline void count_send(rank_state& me, const peer& to, const envelope& from,
                       std::size_t bytes) noexcept {
  note_sent(me, bytes);
  if (tracing()) [[unlikely]]
    trace_send(me, to, from, bytes);
}
// How the accounts name a message that rank number `to` of the world receives.
[[nodiscard]] inline message_name name_of_message(const envelope& from, int to) noexcept {
  return {from.context, from.source, from.tag, to};
}

// Sends a message for which goes_eager() is true.
template <class Data>
[[gnu::always_inline]] inline void send_short(rank_state& me, const peer& to, const envelope& from,
                                              const Data& data) {
  worker& here = *me.home;
  if (to.worker == here.index())
    deliver(here, *to.rank, packed_envelope(from), data);
  else
    send_eager(here, to, packed_envelope(from), data);
}

// Copies a message of any size into a posted receive of a rank of the same worker. False: there is none, or it is
// another worker's.
template <class Data>
[[nodiscard, gnu::noinline]] bool give_same_worker(rank_state& me, const peer& to,
                                                   packed_envelope from, const Data& data,
                                                   send_mode mode) {
  worker& here = *me.home;
  if (to.worker != here.index() || mode == send_mode::synchronous) return false;
  operation* op = to.rank->lists.take_posted(from);
  if (op == nullptr) return false;
  deliver_into(here, *op, from, data);
  return true;
}

// Counts a message and sends it if it goes eager; false: it does not.
template <class Data>
[[nodiscard, gnu::always_inline]] inline bool send_if_short(rank_state& me, const peer& to,
                                                            const envelope& from, const Data& data,
                                                            send_mode mode) {
  count_send(me, to, from, data.size());
  if (!goes_eager(me, to, data, mode)) [[unlikely]]
    return false;
  send_short(me, to, from, data);
  return true;
}

// Sends a message if that is possible without waiting for the receiver; false: a rendezvous request has to be sent.
template <class Data>
[[nodiscard, gnu::always_inline]] inline bool send_now(rank_state& me, const peer& to,
                                                       const envelope& from, const Data& data,
                                                       send_mode mode) {
  if (send_if_short(me, to, from, data, mode)) [[likely]]
    return true;
  const packed_envelope packed(from);
  return to.worker == remote_worker ? send_remote(me, to, packed, data, mode)
                                    : give_same_worker(me, to, packed, data, mode);
}

// Receives the unexpected message that `op` matches, or posts `op`. True: `op` is complete.
[[gnu::always_inline]] inline bool start_receive(rank_state& me, operation& op) {
  if (me.lists.has_unexpected() && find_unexpected(me, op)) return op.complete;
  me.lists.post(op);
  return false;
}

// A short message in the mailbox. The header word holds the receiver's number in the world and a context below 4096;
// source and tag stand before the data. So a message of 16 bytes takes half a cache line. With a larger context, as
// collectives have (hidden_context), the whole envelope stands before the data: mail_eager_whole.
struct mailed_message {
  static constexpr int receiver_bits = 20;
  static_assert(ranks_max <= 1 << receiver_bits);
  packed_envelope from;
  byte_view data;

  [[nodiscard]] static constexpr bool is_one(record_header header) noexcept {
    return header.kind() == mail_eager || header.kind() == mail_eager_whole;
  }
  [[nodiscard]] static constexpr bool has_room_for(std::uint32_t context) noexcept {
    return context >> (32 - receiver_bits) == 0;
  }
  [[nodiscard]] static constexpr std::uint32_t target_of(std::uint32_t context,
                                                         int receiver) noexcept {
    return context << receiver_bits | static_cast<std::uint32_t>(receiver);
  }
  static constexpr std::size_t bytes_before_data = sizeof(std::uint64_t);
  // Writes source and tag of a mail_eager; returns where its data go.
  [[gnu::always_inline]] static std::byte* begin(std::byte* payload,
                                                 packed_envelope from) noexcept {
    const std::uint64_t source_and_tag = from.source_and_tag();
    std::memcpy(payload, &source_and_tag, sizeof source_and_tag);
    return payload + sizeof source_and_tag;
  }
  // The receiver's number, in mail of any kind.
  [[nodiscard]] static constexpr std::uint32_t receiver_of(record_header header) noexcept {
    return header.target() & ((std::uint32_t{1} << receiver_bits) - 1);
  }
  [[gnu::always_inline]] static mailed_message read(record_header header,
                                                    const std::byte* payload) noexcept {
    if (header.kind() != mail_eager) [[unlikely]]
      return {packed_envelope::read(payload),
              {payload + sizeof(envelope), header.size() - sizeof(envelope)}};
    std::uint64_t source_and_tag = 0;
    std::memcpy(&source_and_tag, payload, sizeof source_and_tag);
    return {packed_envelope(header.target() >> receiver_bits, source_and_tag),
            {payload + sizeof source_and_tag, header.size() - sizeof source_and_tag}};
  }
};

// Sends words to a rank of another worker. False: nothing has been done, and the caller takes the slow path.
[[nodiscard, gnu::always_inline]] inline bool mail_words(rank_state& me, const peer& to,
                                                         packed_envelope from, byte_view data) {
  if (!goes_eager(me, to, data, send_mode::standard) ||
      !mailed_message::has_room_for(from.context())) [[unlikely]]
    return false;
  worker& here = *me.home;
  const worker::mail_room room =
      here.try_reserve_known(to.worker, mailed_message::bytes_before_data + data.size());
  if (!room) [[unlikely]]
    return false;
  stages::pass(stages::point::reserved);
  copy_words(mailed_message::begin(room.payload(), from), data.data(), data.size());
  note_sent(me, data.size());
  stages::pass(stages::point::packed);
  here.send_reserved(room, to.worker, mail_eager,
                     mailed_message::target_of(from.context(), to.number));
  stages::pass(stages::point::published);
  return true;
}

// A blocking receive that is not posted: it reads the next record of its sender's worker from the mailbox, if that is
// its message. Empty when this rank has unexpected messages or posted receives, when the record is for somebody else,
// and when none came for a while.
[[nodiscard, gnu::always_inline]] inline std::optional<message_status> take_next(
    rank_state& me, const peer& there, const envelope& wanted, std::span<std::byte> into) {
  if (me.lists.has_unexpected() || me.lists.has_posted() || there.worker == remote_worker)
    return {};
  worker& here = *me.home;
  worker::ring* const mail = here.undivided_mail(there.worker);
  if (mail == nullptr) return {};
  const record_header header{here.look_for_mail(*mail)};
  if (!mailed_message::is_one(header) ||
      mailed_message::receiver_of(header) != static_cast<std::uint32_t>(me.number))
    return {};
  stages::pass(stages::point::seen);
  here.expect_answer(there.worker, header.word);
  const auto* const payload = reinterpret_cast<const std::byte*>(mail->payload());
  const auto [said, data] = mailed_message::read(header, payload);
  const envelope from = said.unpacked();
  if (!matches(wanted, from) || data.size() > into.size()) return {};
  stages::pass(stages::point::matched);
  copy_out(into.data(), data);
  stages::pass(stages::point::copied);
  ++me.counts.received;
  me.counts.received_bytes += data.size();
  here.drop_front(*mail, there.worker, header.word);
  stages::pass(stages::point::told);
  return message_status{from.source, from.tag, data.size()};
}

// take_operation() where `me.spare` is not null.
template <class... As>
[[nodiscard, gnu::always_inline]] inline operation* take_spare(rank_state& me, As... as) {
  operation* const op = me.spare;
  me.spare = op->in_list.next;
  return new (op) operation(as...);
}
template <class... As>
operation* take_operation(rank_state& me, As... as) {
  if (me.spare == nullptr) [[unlikely]]
    return new_operation(me);
  return take_spare(me, as...);
}

// A kept_operation, used again where possible. Not for persistent operations, which may outlive the job.
inline kept_operation* take_kept(rank_state& me) {
  auto* op = static_cast<kept_operation*>(me.spare_kept);
  if (op == nullptr)
    op = new kept_operation{};
  else
    me.spare_kept = std::exchange(op->in_list.next, nullptr);
  op->kept = true;
  op->owner = &me;
  return op;
}

// Takes a receive whose memory goes away out of the lists, so that nothing matches it any more.
inline void withdraw_posted(operation& op) noexcept {
  if (op.posted_in != nullptr) op.owner->lists.withdraw(op);
}

inline blocking_operation::~blocking_operation() {
  withdraw_posted(*this);
}

[[gnu::noinline]] void traced_wait(trace_kind kind, rank_state& me, completion_counter& c,
                                   const wait_description& what, int victim);

// Set where the bytes of an operation are. A layout is not copied: it outlives the operation.
inline void set_memory(operation& op, byte_view data) noexcept {
  op.data = const_cast<std::byte*>(data.data());  // Of a send it is only read.
  op.bytes = data.size();
}
inline void set_memory(operation& op, const segments& data) noexcept {
  op.layout = &data;  // `data` is null unless send_rts() has packed them.
  op.bytes = data.size();
}

// worker::wait_for_pending() and worker::wait(), with a trace. Inlined into the call that waits: see there.
[[gnu::always_inline]] inline void trace_wait_for_pending(trace_kind kind, rank_state& me,
                                                          completion_counter& c,
                                                          const wait_description& what,
                                                          int victim) {
  if (tracing()) [[unlikely]]
    return traced_wait(kind, me, c, what, victim);
  me.home->wait_for_pending(c, what, victim, kind == trace_kind::wait_recv ? victim : -1);
}
[[gnu::always_inline]] inline void trace_wait(trace_kind kind, rank_state& me,
                                              completion_counter& c, const wait_description& what,
                                              int victim = -1) {
  if (c.pending != 0) trace_wait_for_pending(kind, me, c, what, victim);
}

// Posts a receive, whose arguments have been checked, and waits for it. `there`: the sender, null for any. When the
// message is too long, or the sender has died, it calls bad(operation); if that returns, the result has no meaning.
template <class Room, class Bad>
[[gnu::always_inline]] inline message_status post_and_wait(rank_state& me, const peer* there,
                                                           packed_envelope wanted, const Room& into,
                                                           const char* call, const Bad& bad) {
  blocking_operation op;
  op.match = wanted;
  set_memory(op, into);
  op.owner = &me;
  if (!start_receive(me, op)) {
    const envelope e = wanted.unpacked();
    trace_wait_for_pending(trace_kind::wait_recv, me, op.arrival,
                           {call, e.context, e.source, e.tag, into.size()},
                           there != nullptr ? there->worker : -1);
  }
  if (is_bad(op)) [[unlikely]]
    bad(op);
  return op.result;
}

// The name of a blocking send in reports.
[[nodiscard]] inline const char* call_of(send_mode mode) noexcept {
  return mode == send_mode::synchronous ? "ssend" : "send";
}

// Fill in the fields that are set alike for every send, and for every receive whose arguments have been checked.
inline void describe_send(operation& op, rank_state& me, const envelope& from, int to,
                          int peer_worker) noexcept {
  op.what = operation::kind::send;
  op.peer = to;
  op.match = from;
  op.owner = &me;
  op.peer_worker = peer_worker;
}
[[gnu::always_inline]] inline void describe_receive(operation& op, rank_state& me,
                                                    const communicator_state& c,
                                                    const envelope& wanted) noexcept {
  op.match = wanted;
  op.owner = &me;
  op.peer_worker = wanted.source >= 0 ? c.to(wanted.source).worker : -1;
}

}  // namespace weft::detail
