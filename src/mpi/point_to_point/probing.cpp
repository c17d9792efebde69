// Looking at messages before they are received, and messages taken out of the matching.
#include "diagnosis/checks.hpp"
#include "mpi/object/profiling.hpp"
#include "mpi/point_to_point/transfer.hpp"
#include "mpi/point_to_point/type_ledger.hpp"

namespace weft::mpi {

using namespace detail;

namespace {

[[noreturn, gnu::cold]] void fail_lost(state& me, const route& from) {
  const loss what = loss_of(me.rank, from.of_receive());
  if (what == loss::revoked) fail_revoked();
  if (what == loss::unacknowledged)
    fail(MPIX_ERR_PROC_FAILED,
         "a rank that the message may come from is dead: call MPIX_Comm_failure_ack to wait for "
         "those that live");
  fail(MPIX_ERR_PROC_FAILED, "no message will come: the process of its partner is dead");
}

unexpected_message& wait_here(state& me, const route& from, const char* call) {
  unexpected_message* const m = wait_for_message(me.rank, from.of_receive(), call);
  if (m == nullptr) fail_lost(me, from);
  return *m;
}

unexpected_message* look_here(state& me, const route& from) {
  const envelope wanted = from.of_receive();
  unexpected_message* const m = look_for_message(me.rank, wanted);
  if (m == nullptr && is_lost(me.rank, wanted)) fail_lost(me, from);
  return m;
}

void tell_status(const unexpected_message& m, int peers_first, MPI_Status* status) {
  set_status(status, m.from.source - peers_first, m.from.tag, m.rts ? m.rts.bytes : m.bytes);
}

MPI_Message take(state& me, const route& from, MPI_Comm comm, unexpected_message& m) {
  me.rank.lists.remove(m);
  set_congestion(me.rank);
  if (keeps_ledger(me)) [[unlikely]]
    note_matched(me, m);
  message_object& made = me.messages.make();
  made.taken = &m;
  made.context = from.comm->shared->context;
  made.peers_first = from.comm->peers_first;
  made.where = comm;
  return handle_of(made);
}

// The message of a handle; null for MPI_MESSAGE_NO_PROC.
message_object* find_taken(const MPI_Message* handle) {
  check_not_null(handle, "message");
  if (*handle == MPI_MESSAGE_NO_PROC) return nullptr;
  auto* const m = find_object<message_object>(*handle);
  if (m == nullptr)
    fail(MPI_ERR_REQUEST, "{} is no message, or has been received", text_of(*handle));
  return m;
}

// It is received now, as so many of a datatype: the handle is used up.
message_object use_up(state& me, MPI_Message* handle, message_object& m,
                      const datatype_object& type, MPI_Count count) {
  if (keeps_ledger(me)) [[unlikely]]
    note_matched_received(me, *m.taken, &type, count);
  const message_object taken = m;
  me.messages.free(m);
  *handle = MPI_MESSAGE_NULL;
  return taken;
}

void receive_taken(state& me, void* buf, MPI_Count count, MPI_Datatype datatype,
                   MPI_Message* message, MPI_Status* status) {
  check_count(count);
  const datatype_object& type = committed_datatype(datatype);
  message_object* const m = find_taken(message);
  if (m == nullptr) {
    *message = MPI_MESSAGE_NULL;
    return set_null_status(status);
  }
  with_data(buf, count, type, [&](const auto& into) {
    me.rank.home->check_stopped();
    const message_object taken = use_up(me, message, *m, type, count);
    const envelope from = taken.taken->from;
    operation op;
    op.match = from;
    set_memory(op, into);
    op.owner = &me.rank;
    completion_counter copied{1, nullptr};
    op.counter = &copied;
    receive_unexpected(*me.rank.home, op, taken.taken);
    trace_wait(trace_kind::wait_recv, me.rank, copied,
               {"MPI_Mrecv", from.context, from.source, from.tag, into.size()});
    set_status(status, from.source - taken.peers_first, from.tag,
               std::min(op.result.bytes, op.bytes));
    if (is_bad(op)) fail_message(op, taken.peers_first, taken.where);
  });
}

void start_receive_taken(state& me, void* buf, MPI_Count count, MPI_Datatype datatype,
                         MPI_Message* message, MPI_Request* request) {
  check_count(count);
  check_not_null(request, "request");
  const datatype_object& type = committed_datatype(datatype);
  message_object* const m = find_taken(message);
  if (m == nullptr) {
    *message = MPI_MESSAGE_NULL;
    *request =
        request_of_nothing(me, me.received_from_nobody, {&*me.self, nullptr, proc_null, any_tag},
                           MPI_COMM_SELF, "MPI_Imrecv");
    return;
  }
  with_data(buf, count, type, [&](const auto& into) {
    me.rank.home->check_stopped();
    const message_object taken = use_up(me, message, *m, type, count);
    request_object& made =
        make_request(me, taken.peers_first, taken.where, request_object::type::receive);
    made.own_work.match = taken.taken->from;
    made.own_work.owner = &me.rank;
    set_memory(made.own_work, kept_by(me, made, into));
    *request = handle_of(made);
    watch(me, made.own_work, "MPI_Imrecv");
    receive_unexpected(*me.rank.home, made.own_work, taken.taken);
  });
}

// In a checked job.
void tell_taken_messages(state& me, const char* call) {
  if (me.rank.of->checks == nullptr || me.messages.live() == 0) return;
  const std::size_t count = me.messages.live();
  const unexpected_message* first = nullptr;
  me.messages.each([&](const message_object& m) { first = first == nullptr ? m.taken : first; });
  me.rank.of->checks->add(
      {diagnosis::finding::kind::warning,
       formatted(
           "rank {} called {} with {} message{} that MPI_Mprobe took and nobody received; the "
           "first: from {}, tag {}: call MPI_Mrecv",
           me.rank.number, call, count, count == 1 ? "" : "s",
           me.name_of_source(first->from.context, first->from.source), first->from.tag),
       {}});
}

}  // namespace

void free_taken_messages(state& me, const char* call) {
  tell_taken_messages(me, call);
  me.messages.each([&](message_object& m) {
    if (keeps_ledger(me)) [[unlikely]]
      note_matched_received(me, *m.taken, nullptr, 0);
    drop_unexpected(me.rank, m.taken);
    me.messages.free(m);
  });
}

}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_Probe, (int source, int tag, MPI_Comm comm, MPI_Status* status)) {
  return in_call(
      "MPI_Probe", comm,
      [&](state& me) {
        const route from = source_route(me, source, tag, comm);
        if (from.to_nobody()) return set_null_status(status);
        tell_status(wait_here(me, from, "MPI_Probe"), from.comm->peers_first, status);
      },
      source, tag, comm, status);
}

WEFT_MPI_FUNCTION(int, MPI_Iprobe,
                  (int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status)) {
  return in_call(
      "MPI_Iprobe", comm,
      [&](state& me) {
        check_not_null(flag, "flag");
        const route from = source_route(me, source, tag, comm);
        *flag = 1;
        if (from.to_nobody()) return set_null_status(status);
        if (const auto* const m = look_here(me, from); m != nullptr)
          tell_status(*m, from.comm->peers_first, status);
        else
          *flag = 0;
      },
      source, tag, comm, flag, status);
}

WEFT_MPI_FUNCTION(int, MPI_Mprobe,
                  (int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status)) {
  return in_call(
      "MPI_Mprobe", comm,
      [&](state& me) {
        check_not_null(message, "message");
        const route from = source_route(me, source, tag, comm);
        *message = MPI_MESSAGE_NO_PROC;
        if (from.to_nobody()) return set_null_status(status);
        unexpected_message& m = wait_here(me, from, "MPI_Mprobe");
        tell_status(m, from.comm->peers_first, status);
        *message = take(me, from, comm, m);
      },
      source, tag, comm, message, status);
}

WEFT_MPI_FUNCTION(int, MPI_Improbe,
                  (int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                   MPI_Status* status)) {
  return in_call(
      "MPI_Improbe", comm,
      [&](state& me) {
        check_not_null(flag, "flag");
        check_not_null(message, "message");
        const route from = source_route(me, source, tag, comm);
        *flag = 1;
        *message = MPI_MESSAGE_NO_PROC;
        if (from.to_nobody()) return set_null_status(status);
        if (auto* const m = look_here(me, from); m != nullptr) {
          tell_status(*m, from.comm->peers_first, status);
          *message = take(me, from, comm, *m);
        } else {
          *flag = 0;
          *message = MPI_MESSAGE_NULL;
        }
      },
      source, tag, comm, flag, message, status);
}

#define RECEIVE_TAKEN(name, count_type, function, result_type)                                 \
  WEFT_MPI_FUNCTION(int, name,                                                                 \
                    (void* buf, count_type count, MPI_Datatype datatype, MPI_Message* message, \
                     result_type* result)) {                                                   \
    return in_call(                                                                            \
        #name, MPI_COMM_SELF,                                                                  \
        [&](state& me) { function(me, buf, count, datatype, message, result); }, buf, count,   \
        datatype, message, result);                                                            \
  }
RECEIVE_TAKEN(MPI_Mrecv, int, receive_taken, MPI_Status)
RECEIVE_TAKEN(MPI_Mrecv_c, MPI_Count, receive_taken, MPI_Status)
RECEIVE_TAKEN(MPI_Imrecv, int, start_receive_taken, MPI_Request)
RECEIVE_TAKEN(MPI_Imrecv_c, MPI_Count, start_receive_taken, MPI_Request)
