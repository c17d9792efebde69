// Messages between ranks. Short ones travel through the mailbox of the two workers; of long ones
// the sender offers the address, and the receiver copies once, helped by the sender and by idle
// ranks. Between ranks of one worker nothing travels: the sender writes into the posted receive.
// docs/protocols/messages.md has the states.
#include <cstring>
#include <memory>
#include <string>

#include "base/format.hpp"
#include "job/accounted_call.hpp"
#include "profile/counted_wait.hpp"
#include "rank/messages.hpp"
#include "trace/event_file.hpp"

namespace weft {
namespace detail {

void traced_wait(trace_kind kind, rank_state& me, completion_counter& c,
                 const wait_description& what, int victim) {
  // Another thread of the rank waits, the rank itself may compute: its track has no wait.
  if (origin_of_this_thread().identity != nullptr) return me.home->wait(c, what, victim);
  // What goes on beside the rank's own code is no wait of the rank.
  if (goes_on_beside(*me.home)) {
    struct slice {
      const int rank;
      const trace_kind kind;
      ~slice() { record_trace_event(trace_phase::end, kind, rank, 0, event_file::goes_on_beside); }
    } const traced{me.number, kind};
    record_trace_event(trace_phase::begin, kind, me.number, what.peer, event_file::goes_on_beside,
                       what.call);
    return me.home->wait(c, what, victim);
  }
  const profile::counted_wait counted([&me] { return me.number; }, what.call,
                                      profile::awaited_messages{kind, what.peer, &c});
  me.home->wait(c, what, victim);
}

void trace_send(const rank_state& me, const peer& to, const envelope& from, std::size_t bytes) {
  profile::sent(me.number, to.number, name_of_message(from, to.number), bytes);
}

void throw_not_own(const communicator_state& c, int rank, const rank_state& me, const char* call) {
  throw error(formatted(
      "rank {} calls {} through the communicator of rank {}: each rank uses the one that it was given",
      me.number, call, c.to(rank).number));
}

[[gnu::cold]] void wrong_rank(communicator_state& c, int rank, const char* call, const char* what) {
  throw error(std::string(call) + " " + what + " rank " + std::to_string(rank) +
              ": the communicator has ranks 0 to " + std::to_string(c.size() - 1));
}
[[gnu::cold]] void wrong_tag(int tag, const char* call) {
  throw error(std::string(call) + " with tag " + std::to_string(tag) + ": tags are 0 to " +
              std::to_string(tag_max));
}

namespace {

template <class Room>
[[gnu::always_inline]] inline message_status receive(communicator_state& c, const Room& into,
                                                     int from, int tag) {
  rank_state& me = calling_rank("recv");
  me.home->begin_call();
  if (from == proc_null) return {};
  check_source(c, from, tag, "recv");
  const envelope wanted{c.context, from, tag};
  const peer* const there = from >= 0 ? &c.to(from) : nullptr;
  if constexpr (std::is_same_v<Room, std::span<std::byte>>)
    if (there != nullptr && there->worker != me.home->index())
      if (const auto got = take_next(me, *there, wanted, into)) return *got;
  return post_and_wait(me, there, packed_envelope(wanted), into, "recv", throw_bad_result);
}

template <class Data>
[[gnu::noinline]] void send_buffered(const shared_handle<communicator_state>& c, rank_state& me,
                                     int to, envelope from, const Data& data) {
  check_is_own(*c, from.source, me, "bsend");
  const peer& there = c->to(to);
  if (send_now(me, there, from, data, send_mode::standard)) return;
  kept_operation* op = take_kept(me);
  op->detached = true;
  op->communicator = c;
  op->copy = std::make_unique<std::byte[]>(data.size());
  copy_out(op->copy.get(), data);
  set_memory(*op, byte_view(op->copy.get(), data.size()));
  describe_send(*op, me, from, to, there.worker);
  me.detached.push_back(*op);
  send_rts(*me.home, there, from, *op);
}

template <class Data>
[[gnu::noinline]] void send_long(const communicator_state& c, rank_state& me, int to, envelope from,
                                 const Data& data, send_mode mode) {
  check_is_own(c, from.source, me, call_of(mode));
  const peer& there = c.to(to);
  blocking_send op;
  set_memory(op, data);
  describe_send(op, me, from, to, there.worker);
  op.mode = mode;
  completion_counter taken{1, nullptr};
  op.counter = &taken;
  send_rts(*me.home, there, from, op);
  trace_wait(trace_kind::wait_send, me, taken,
             {call_of(mode), from.context, to, from.tag, data.size()}, there.worker);
  check_result(op);
}

template <class Data>
[[gnu::always_inline]] inline void send(const shared_handle<communicator_state>& state, int rank,
                                        const Data& data, int to, int tag, send_mode mode) {
  rank_state& me = calling_rank("send");
  me.home->begin_call();
  if (to == proc_null) return;
  communicator_state& c = *state;
  check_destination(c, to, tag, "send");
  const peer& there = c.to(to);
  const envelope from{c.context, rank, tag};
  if (mode == send_mode::buffered) [[unlikely]]
    return send_buffered(state, me, to, from, data);
  if (!send_now(me, there, from, data, mode)) [[unlikely]]
    send_long(c, me, to, from, data, mode);
}

// Words as they are usually sent. Neither of their two ways calls anybody but at its end, so that they save no
// registers; anything unusual is left to the slow path, one call with the same arguments.
[[nodiscard, gnu::always_inline]] inline bool are_usual(byte_view data, int to, int tag,
                                                        send_mode mode, const rank_state* me,
                                                        const communicator_state& c) {
  return me != nullptr && !me->home->needs_slow_path() && c.has(to) && tag >= 0 &&
         mode == send_mode::standard && are_words(data.size());
}
[[gnu::noinline]] void send_on_slow_path(const communicator& c, byte_view data, int to, int tag,
                                         send_mode mode) {
  // Reached by a jump: this is where send_bytes() returns to.
  const accounted_call call("send", __builtin_return_address(0));
  send(c.shared_state(), c.rank(), data, to, tag, mode);
}
[[gnu::noinline]] void send_words_by_mail(const communicator& c, byte_view data, int to, int tag,
                                          rank_state& me) {
  const communicator_state& shared = c.state();
  if (!mail_words(me, shared.to(to), packed_envelope({shared.context, c.rank(), tag}), data))
      [[unlikely]]
    send_on_slow_path(c, data, to, tag, send_mode::standard);
}

// An operation that a request will own, with its memory set. A layout is copied into it: the
// program's own may be a temporary.
template <class... As>
operation* make_operation(rank_state& me, byte_view data, As... as) {
  operation* op = take_operation(me, as...);
  set_memory(*op, data);
  return op;
}
void keep_memory(kept_operation& op, byte_view data) {
  set_memory(op, data);
}
void keep_memory(kept_operation& op, const segments& data) {
  op.shape = data;
  set_memory(op, op.shape);
}
template <class... As>
operation* make_operation(rank_state& me, const segments& data, As...) {
  kept_operation* op = take_kept(me);
  keep_memory(*op, data);
  return op;
}

template <class Data>
[[gnu::noinline]] operation* start_long_send(const communicator_state& c, rank_state& me, int to,
                                             envelope from, const Data& data) {
  check_is_own(c, from.source, me, "isend");
  const peer& there = c.to(to);
  operation* op = make_operation(me, data);
  describe_send(*op, me, from, to, there.worker);
  op->active = true;
  if (op->kept) [[unlikely]]
    watch_start(*op);
  send_rts(*me.home, there, from, *op);
  return op;
}

template <class Data>
[[gnu::always_inline]] inline request start_send(communicator_state& c, int rank, const Data& data,
                                                 int to, int tag, send_mode mode) {
  rank_state& me = calling_rank("isend");
  me.home->begin_call();
  if (to == proc_null) return request();
  check_destination(c, to, tag, "isend");
  // A message that goes at once needs no operation.
  const peer& there = c.to(to);
  const envelope from{c.context, rank, tag};
  if (send_now(me, there, from, data, mode)) [[likely]]
    return request();
  return request(start_long_send(c, me, to, from, data));
}

template <class Room>
[[gnu::noinline]] request start_recv(communicator_state& c, const Room& into, int from, int tag) {
  rank_state& me = calling_rank("irecv");
  me.home->begin_call();
  if (from == proc_null) return request();
  check_source(c, from, tag, "irecv");
  operation* op = make_operation(me, into, operation::as_receive{});
  describe_receive(*op, me, c, {c.context, from, tag});
  op->active = true;
  if (op->kept) [[unlikely]]
    watch_start(*op);
  start_receive(me, *op);
  return request(op);
}

template <class Data>
request make_persistent(const shared_handle<communicator_state>& c, rank_state& me,
                        operation::kind what, int peer, const Data& data, const envelope& match) {
  auto* op = new kept_operation{};
  op->kept = true;
  op->persistent = true;
  op->communicator = c;
  op->what = what;
  op->peer = peer;
  op->owner = &me;
  keep_memory(*op, data);
  op->match = match;
  if (peer >= 0) op->peer_worker = c->to(peer).worker;
  return request(op);
}

template <class Data>
request make_persistent_send(const shared_handle<communicator_state>& c, int rank, const Data& data,
                             int to, int tag) {
  rank_state& me = calling_rank("send_init");
  check_is_own(*c, rank, me, "send_init");
  if (to != proc_null) check_destination(*c, to, tag, "send_init");
  return make_persistent(c, me, operation::kind::send, to, data, {c->context, rank, tag});
}

template <class Room>
request make_persistent_recv(const shared_handle<communicator_state>& c, const Room& into, int from,
                             int tag) {
  rank_state& me = calling_rank("recv_init");
  if (from != proc_null) check_source(*c, from, tag, "recv_init");
  return make_persistent(c, me, operation::kind::recv, from, into, {c->context, from, tag});
}

}  // namespace
}  // namespace detail

using namespace detail;

// --- Bytes in a row -----------------------------------------------------------------------------

void communicator::send_bytes(byte_view data, int to, int tag, send_mode mode) const {
  auto* const me = static_cast<rank_state*>(worker::caller());
  if (!are_usual(data, to, tag, mode, me, *state_)) [[unlikely]]
    return send_on_slow_path(*this, data, to, tag, mode);
  const peer& there = state_->to(to);
  if (there.worker != me->home->index()) return send_words_by_mail(*this, data, to, tag, *me);
  if (!give_words_same_worker(*me, *there.rank, packed_envelope({state_->context, rank_, tag}),
                              data)) [[unlikely]]
    send_on_slow_path(*this, data, to, tag, mode);
}

namespace {
[[gnu::noinline]] message_status receive_traced(communicator_state& c, std::span<std::byte> into,
                                                int from, int tag, const void* return_address) {
  const accounted_call call("recv", return_address);
  return receive(c, into, from, tag);
}
}  // namespace

WEFT_RETURNS_BY_JUMP message_status communicator::recv_bytes(std::span<std::byte> into, int from,
                                                             int tag) const {
  if (tracing()) [[unlikely]]
    return receive_traced(*state_, into, from, tag, __builtin_return_address(0));
  return receive(*state_, into, from, tag);
}

void communicator::refuse_size(std::size_t value_bytes, message_status got) const {
  throw error("rank " + std::to_string(rank_) + ": a receive of one value of " +
              std::to_string(value_bytes) + " bytes got a message of " + std::to_string(got.bytes) +
              " bytes from rank " + std::to_string(got.source) + ", tag " +
              std::to_string(got.tag) + ": send and receive the same type");
}

namespace {
[[gnu::noinline]] request isend_traced(communicator_state& c, int rank, byte_view data, int to,
                                       int tag, send_mode mode, const void* return_address) {
  const accounted_call call("isend", return_address);
  return start_send(c, rank, data, to, tag, mode);
}
}  // namespace

request communicator::isend_bytes(byte_view data, int to, int tag, send_mode mode) const {
  if (tracing()) [[unlikely]]
    return isend_traced(*state_, rank_, data, to, tag, mode, __builtin_return_address(0));
  return start_send(*state_, rank_, data, to, tag, mode);
}

// A receive for which nothing has come yet calls nobody, and what is rarer is left to one call: so it saves hardly
// any registers.
request communicator::irecv_bytes(std::span<std::byte> into, int from, int tag) const {
  auto* const me = static_cast<rank_state*>(worker::caller());
  const communicator_state& c = *state_;
  if (me == nullptr || me->home->needs_slow_path() || !c.has(from) || (tag < 0 && tag != any_tag) ||
      me->spare == nullptr || me->lists.has_unexpected() || !me->lists.has_room_in_row())
      [[unlikely]]
    return start_recv(*state_, byte_view(into), from, tag);
  operation* const op = take_spare(*me, operation::as_receive{});
  set_memory(*op, byte_view(into));
  describe_receive(*op, *me, c, {c.context, from, tag});
  op->active = true;
  me->lists.post_in_row(*op);
  return request(op);
}

request communicator::send_init_bytes(byte_view data, int to, int tag) const {
  return make_persistent_send(state_, rank_, data, to, tag);
}

request communicator::recv_init_bytes(std::span<std::byte> into, int from, int tag) const {
  return make_persistent_recv(state_, byte_view(into), from, tag);
}

// --- Layouts; those that turn out to be contiguous go the way above ----------------------------------

void communicator::send_bytes(const segments& data, int to, int tag, send_mode mode) const {
  if (data.contiguous())
    send_bytes(data.flat(), to, tag, mode);
  else
    detail::send(state_, rank_, data, to, tag, mode);
}

message_status communicator::recv_bytes(const segments& into, int from, int tag) const {
  if (into.contiguous()) return recv_bytes(into.flat(), from, tag);
  return receive(*state_, into, from, tag);
}

request communicator::isend_bytes(const segments& data, int to, int tag, send_mode mode) const {
  if (data.contiguous()) return isend_bytes(data.flat(), to, tag, mode);
  return start_send(*state_, rank_, data, to, tag, mode);
}

request communicator::irecv_bytes(const segments& into, int from, int tag) const {
  if (into.contiguous()) return irecv_bytes(into.flat(), from, tag);
  return start_recv(*state_, into, from, tag);
}

request communicator::send_init_bytes(const segments& data, int to, int tag) const {
  if (data.contiguous()) return send_init_bytes(data.flat(), to, tag);
  return make_persistent_send(state_, rank_, data, to, tag);
}

request communicator::recv_init_bytes(const segments& into, int from, int tag) const {
  if (into.contiguous()) return recv_init_bytes(into.flat(), from, tag);
  return make_persistent_recv(state_, into, from, tag);
}

}  // namespace weft
