// Messages: the blocking calls.
#include "mpi/data.hpp"
#include "mpi/profiling.hpp"
#include "mpi/state.hpp"
#include "mpi/status.hpp"

namespace weft::mpi {

using namespace detail;

void fail_buffer(const void* buffer, const datatype_object& type) {
  fail(MPI_ERR_BUFFER, "the buffer is {}, which {} cannot be read from or written to",
       buffer == nullptr ? "NULL" : buffer == MPI_IN_PLACE ? "MPI_IN_PLACE" : "MPI_BUFFER_AUTOMATIC",
       printable(type.name));
}

namespace {

template <class Data>
[[gnu::always_inline]] inline void send_data(state& me, communicator_object& c, const Data& data,
                                             int to, int tag, send_mode mode, const char* call) {
  rank_state& r = me.rank;
  r.home->perturb();
  r.home->check_stopped();
  const peer& there = c.shared->to(to);
  const envelope from{c.shared->context, c.own, tag};
  if (send_now(r, there, to, from, data, mode)) [[likely]] return;
  operation op;
  set_memory(op, data);
  describe_send(op, r, from, to, there.worker);
  countdown taken{1, nullptr};
  op.counter = &taken;
  send_offer(*r.home, there, from, op);
  trace_wait(trace_kind::wait_send, r, taken, {call, from.context, to, tag, data.size()},
             there.worker);
  check_result(op);
}

[[gnu::always_inline]] inline void send(const char* call, state& me, const void* buf,
                                        MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                                        MPI_Comm comm, send_mode mode) {
  communicator_object& c = checked_communicator(me, comm);
  check_count(count);
  const datatype_object& type = committed_datatype(datatype);
  check_tag(tag);
  if (dest == MPI_PROC_NULL) return;
  check_peer(c, dest, "to");
  with_data(buf, count, type, [&](const auto& data) {
    send_data(me, c, data, c.peers_first + dest, tag, mode, call);
  });
}

template <class Room>
[[gnu::always_inline]] inline message_status receive_data(state& me, communicator_object& c,
                                                          const Room& into, int from, int tag,
                                                          const char* call) {
  rank_state& r = me.rank;
  r.home->perturb();
  operation op;
  op.match = {c.shared->context, from, tag};
  set_memory(op, into);
  op.owner = &r;
  countdown arrival{1, nullptr};
  op.counter = &arrival;
  r.home->check_stopped();
  if (!start_receive(r, op)) {
    const posted_guard guard{r, op};
    trace_wait(trace_kind::wait_recv, r, arrival, {call, op.match.context, from, tag, into.size()},
               from >= 0 ? c.shared->to(from).worker : -1);
  }
  check_result(op);
  return op.result;
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_Send, (const void* buf, int count, MPI_Datatype datatype, int dest,
                                  int tag, MPI_Comm comm)) {
  return in_call("MPI_Send", comm, [&](state& me) {
    send("MPI_Send", me, buf, count, datatype, dest, tag, comm, weft::detail::send_mode::standard);
  }, buf, count, datatype, dest, tag, comm);
}

WEFT_MPI_FUNCTION(int, MPI_Recv, (void* buf, int count, MPI_Datatype datatype, int source, int tag,
                                  MPI_Comm comm, MPI_Status* status)) {
  return in_call("MPI_Recv", comm, [&](state& me) {
    communicator_object& c = checked_communicator(me, comm);
    check_count(count);
    const datatype_object& type = committed_datatype(datatype);
    if (tag != MPI_ANY_TAG) check_tag(tag);
    if (source == MPI_PROC_NULL) return set_null_status(status);
    if (source != MPI_ANY_SOURCE) check_peer(c, source, "from");
    const int from = source == MPI_ANY_SOURCE ? weft::any_source : c.peers_first + source;
    const int wanted = tag == MPI_ANY_TAG ? weft::any_tag : tag;
    const weft::message_status got = with_data(buf, count, type, [&](const auto& into) {
      return receive_data(me, c, into, from, wanted, "MPI_Recv");
    });
    set_status(status, got.source - c.peers_first, got.tag, got.bytes);
  }, buf, count, datatype, source, tag, comm);
}
