// From the arguments of a call to the message path of the module rank: what all sends and all receives have in
// common. It is inlined into each, so that a short message costs no more than in that module.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "mpi/datatype/data.hpp"
#include "mpi/object/request.hpp"
#include "mpi/object/state.hpp"
#include "mpi/object/status.hpp"
#include "rank/messages.hpp"

namespace weft::mpi {

// --- Arguments -----------------------------------------------------------------------------------

// The checked arguments of a message: its partner, as the module rank numbers it.
struct route {
  communicator_object* comm;
  const datatype_object* type;  // Null with MPI_PROC_NULL.
  int peer;
  int tag;
  [[nodiscard]] bool to_nobody() const noexcept { return peer == proc_null; }
  [[nodiscard]] detail::envelope of_send() const noexcept {
    return {comm->shared->context, comm->own, tag};
  }
  [[nodiscard]] detail::envelope of_receive() const noexcept {
    return {comm->shared->context, peer, tag};
  }
};

// A message of 0 elements to or from MPI_PROC_NULL needs no datatype: programs pass MPI_DATATYPE_NULL.
inline void check_data_of_nobody(MPI_Count count, MPI_Datatype datatype) {
  if (count != 0 || datatype != MPI_DATATYPE_NULL) (void)committed_datatype(datatype);
}

[[gnu::always_inline]] inline route send_route(state& me, MPI_Count count, MPI_Datatype datatype,
                                               int dest, int tag, MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  check_count(count);
  if (dest == MPI_PROC_NULL) [[unlikely]] {
    check_data_of_nobody(count, datatype);
    check_tag(tag);
    return {&c, nullptr, proc_null, tag};
  }
  const datatype_object& type = committed_datatype(datatype);
  check_tag(tag);
  check_peer(c, dest, "to");
  return {&c, &type, c.peer(dest), tag};
}

// For receives and probes.
[[gnu::always_inline]] inline route source_route(state& me, int source, int tag, MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  if (tag == MPI_ANY_TAG)
    tag = any_tag;
  else
    check_tag(tag);
  if (source == MPI_PROC_NULL) [[unlikely]]
    return {&c, nullptr, proc_null, tag};
  if (source == MPI_ANY_SOURCE) {
    if (c.open_peers == 0) [[unlikely]]
      fail_any_source(c);
    return {&c, nullptr, any_source, tag};
  }
  check_peer(c, source, "from");
  return {&c, nullptr, c.peer(source), tag};
}
[[gnu::always_inline]] inline route receive_route(state& me, MPI_Count count, MPI_Datatype datatype,
                                                  int source, int tag, MPI_Comm comm) {
  route from = source_route(me, source, tag, comm);
  check_count(count);
  if (from.to_nobody()) [[unlikely]]
    check_data_of_nobody(count, datatype);
  else
    from.type = &committed_datatype(datatype);
  return from;
}

// --- Blocking ------------------------------------------------------------------------------------

[[nodiscard]] int class_of(detail::loss what) noexcept;
// "a receive of 4 bytes got a message of 8 bytes from ..."
[[noreturn, gnu::cold]] void fail_message(const detail::operation& op, int peers_first,
                                          MPI_Comm where = MPI_COMM_NULL);

template <class Data>
[[gnu::always_inline]] inline void send_data(state& me, const route& to, const Data& data,
                                             detail::send_mode mode, const char* call) {
  using namespace detail;
  rank_state& r = me.rank;
  r.home->begin_call();
  const peer& there = to.comm->shared->to(to.peer);
  const envelope from = to.of_send();
  if (send_now(r, there, from, data, mode)) [[likely]]
    return;
  blocking_send op;
  set_memory(op, data);
  describe_send(op, r, from, to.peer, there.worker);
  completion_counter taken{1, nullptr};
  op.counter = &taken;
  send_rts(*r.home, there, from, op);
  trace_wait(trace_kind::wait_send, r, taken, {call, from.context, to.peer, to.tag, data.size()},
             there.worker);
  if (is_bad(op)) [[unlikely]]
    fail_message(op, to.comm->peers_first);
}

template <class Room>
[[gnu::always_inline]] inline void describe_receive(state& me, const route& from, const Room& into,
                                                    detail::operation& op) {
  detail::describe_receive(op, me.rank, *from.comm->shared, from.of_receive());
  set_memory(op, into);
}
// Called after begin_call(). The receive may be complete at once.
[[gnu::always_inline]] inline void begin_receive(state& me, detail::operation& op) {
  start_receive(me.rank, op);
}

// Throws the error of a receive that got too long a message, or whose sender has died.
[[noreturn, gnu::cold]] inline void fail_receive(const detail::operation& op, int peers_first,
                                                 MPI_Status* status) {
  set_status(status, op.result.source - peers_first, op.result.tag, op.bytes);
  fail_message(op, peers_first);
}

// A receive on the stack of the call that waits for it. The constructor begins it.
class blocking_receive {
 public:
  template <class Room>
  [[gnu::always_inline]] blocking_receive(state& me, const route& from, const Room& into)
      : me_(me), peers_first_(from.comm->peers_first) {
    describe_receive(me, from, into, op_);
    begin_receive(me, op_);
  }
  blocking_receive(const blocking_receive&) = delete;
  blocking_receive& operator=(const blocking_receive&) = delete;
  // Called after the wait.
  [[gnu::always_inline]] void conclude(MPI_Status* status) {
    if (is_bad(op_)) [[unlikely]]
      fail_receive(op_, peers_first_, status);
    set_status(status, op_.result.source - peers_first_, op_.result.tag, op_.result.bytes);
  }

  [[gnu::always_inline]] void wait(const char* call) {
    trace_wait(trace_kind::wait_recv, me_.rank, op_.arrival,
               {call, op_.match.context, op_.match.source, op_.match.tag, op_.bytes},
               op_.peer_worker);
  }
  // Called when something else has failed: when it returns, nothing writes into the buffer any more.
  void give_up(const char* call) {
    if (op_.posted_in == nullptr) wait(call);
  }
  [[nodiscard]] bool complete() const noexcept { return op_.complete; }
  // The message of a complete receive.
  [[nodiscard]] const message_status& message() const noexcept { return op_.result; }

 private:
  state& me_;
  int peers_first_;
  detail::blocking_operation op_;
};

// --- Not blocking --------------------------------------------------------------------------------

[[gnu::noinline, gnu::cold]] void watch_call(const state& me, const detail::operation& op,
                                             const char* call);
[[nodiscard, gnu::cold]] MPI_Request own_request_of_nothing(state& me, const request_object& shared,
                                                            const route& r, MPI_Comm comm,
                                                            const char* call);

inline request_object& make_request(state& me, int peers_first, MPI_Comm comm,
                                    request_object::type what) {
  request_object& made = me.requests.make();
  made.what = what;
  made.where = comm;
  made.peers_first = peers_first;
  return made;
}
// make_request() for a receive whose operation the caller fills in at once.
inline request_object& make_receive(state& me, int peers_first, MPI_Comm comm) {
  request_object& made = me.requests.make(detail::operation::as_receive{});
  made.where = comm;
  made.peers_first = peers_first;
  return made;
}

// Called in a checked job before the operation of a request can be matched: notes which call started it and where, and
// looks whether its memory overlaps others'.
inline void watch(const state& me, const detail::operation& op, const char* call) {
  if (me.rank.watch != nullptr) [[unlikely]]
    watch_call(me, op, call);
}

// Fills in what reports say about a request that was complete at once.
inline void describe_nothing(request_object& made, state& me, const route& r) {
  detail::operation& op = made.own_work;
  op.what = made.what == request_object::type::send ? detail::operation::kind::send
                                                    : detail::operation::kind::recv;
  op.match = r.of_receive();
  op.peer = r.peer;
  op.owner = &me.rank;
  op.complete = true;
}

// The request of a message that is complete at once. It is `shared`, one object for all of them; in a checked job
// each has its own, since the program may leave it behind.
[[nodiscard]] inline MPI_Request request_of_nothing(state& me, request_object& shared,
                                                    const route& r, MPI_Comm comm,
                                                    const char* call) {
  return me.rank.watch == nullptr ? handle_of(shared)
                                  : own_request_of_nothing(me, shared, r, comm, call);
}

// The data that the operation of a request refers to. A layout is copied into the request, since it must outlive the
// call.
inline detail::byte_view kept_by(state&, request_object&, detail::byte_view data) {
  return data;
}
inline const detail::segments& kept_by(state& me, request_object& r, const detail::segments& data) {
  return r.needed_details(me.details).layout = data;
}

// --- Buffered (buffered.cpp) ---------------------------------------------------------------------
// A buffered send, which never waits: a message that cannot go at once is copied. Throws when the attached buffers
// are too small for it.
void send_buffered(state& me, const route& to, const void* buffer, MPI_Count count);
// The same for a persistent request. `layout` is null when the bytes lie in a row.
void send_buffered(state& me, const detail::peer& there, int to, const detail::envelope& from,
                   const detail::segments* layout, detail::byte_view data);
// Whether some buffered sends of this rank in a communicator have not been received.
[[nodiscard]] bool has_buffered(const state& me, std::uint32_t context) noexcept;
// Returns when all buffered sends of this rank have been received, or those on communicators of one session.
void finish_buffered(state& me, const char* call, std::optional<std::uint32_t> session);

}  // namespace weft::mpi
