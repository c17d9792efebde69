// What programs do with requests besides waiting: start, cancel and free them.
#include "mpi/object/profiling.hpp"
#include "mpi/object/request.hpp"
#include "mpi/object/state.hpp"
#include "mpi/point_to_point/type_ledger.hpp"
#include "rank/messages.hpp"

namespace weft::mpi {
namespace {

// A send whose data wait for their receiver. Whether it is taken back is known when it completes.
void cancel_send(state& me, request_object& r) {
  detail::operation& op = *r.work;
  if (r.complete()) return;
  const detail::peer& to = find_referred(me, r.where)->shared->to(op.peer);
  if (keeps_ledger(me)) note_lost(me, to.number, op.match);
  detail::ask_back(*me.rank.home, to, op);
}

// What nothing has matched is taken back; else the request completes as if nothing had been said.
void cancel(state& me, MPI_Request* request) {
  check_not_null(request, "request");
  request_object& r = checked_request(*request);
  if (!r.active) fail(MPI_ERR_REQUEST, "the request is not active: there is nothing to cancel");
  if (r.is_partitioned()) fail(MPI_ERR_REQUEST, "a partitioned message cannot be cancelled");
  if (r.details != nullptr && r.details->exchange)
    fail(MPI_ERR_REQUEST, "a request of MPI_Isendrecv cannot be cancelled");
  if (r.what == request_object::type::generalized && r.details->cancel != nullptr) {
    const int code = r.details->cancel(r.details->extra_state, r.complete());
    if (code != MPI_SUCCESS) fail(code, "the cancel function of a generalized request failed");
  }
  if (r.what == request_object::type::send) return cancel_send(me, r);
  if (r.what != request_object::type::receive || r.work->posted_in == nullptr) return;
  me.rank.lists.withdraw(*r.work);
  r.cancelled = true;
  r.work->failed = false;  // A failure may have interrupted it.
  r.work->result = {};
  detail::complete(*me.rank.home, *r.work);
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_Request_free, (MPI_Request * request)) {
  return in_call(
      "MPI_Request_free", MPI_COMM_SELF,
      [&](state& me) {
        check_not_null(request, "request");
        free_request(me, *request);
      },
      request);
}
// A look and nothing more: no state of the rank is touched, unless there is an error.
WEFT_MPI_FUNCTION(int, MPIX_Request_is_complete, (MPI_Request request)) {
  if (const auto* const r = find_object<request_object>(request); r != nullptr)
    return !r->active || r->complete() ? 1 : 0;
  if (request == MPI_REQUEST_NULL) return 1;
  (void)in_call(
      "MPIX_Request_is_complete", MPI_COMM_SELF, [&](state&) { (void)checked_request(request); },
      request);
  return 1;
}
WEFT_MPI_FUNCTION(int, MPI_Cancel, (MPI_Request * request)) {
  return in_call(
      "MPI_Cancel", MPI_COMM_SELF, [&](state& me) { cancel(me, request); }, request);
}

WEFT_MPI_FUNCTION(int, MPI_Start, (MPI_Request * request)) {
  return in_call(
      "MPI_Start", MPI_COMM_SELF,
      [&](state& me) {
        check_not_null(request, "request");
        start(me, checked_request(*request));
      },
      request);
}
WEFT_MPI_FUNCTION(int, MPI_Startall, (int count, MPI_Request* array_of_requests)) {
  return in_call(
      "MPI_Startall", MPI_COMM_SELF,
      [&](state& me) {
        check_count(count);
        if (count > 0) check_not_null(array_of_requests, "array_of_requests");
        for (int i = 0; i < count; ++i) start(me, checked_request(array_of_requests[i]));
      },
      count, array_of_requests);
}
