// Requests that the program itself completes; its functions say what became of them.
#include "mpi/object/profiling.hpp"
#include "mpi/object/request.hpp"
#include "mpi/object/state.hpp"
#include "mpi/object/status.hpp"
#include "mpi/point_to_point/partitioned.hpp"
#include "mpi/point_to_point/transfer.hpp"
#include "rank/request_watch.hpp"

namespace weft::mpi {

void conclude_generalized(request_object& r, MPI_Status* status) {
  request_details& d = *r.details;
  MPI_Status own{};
  set_empty_status(&own);
  int code = d.query != nullptr ? d.query(d.extra_state, &own) : MPI_SUCCESS;
  if (status != MPI_STATUS_IGNORE) {
    own.MPI_ERROR = status->MPI_ERROR;
    *status = own;
  }
  if (d.free != nullptr)
    if (const int freed = d.free(d.extra_state); code == MPI_SUCCESS) code = freed;
  if (code != MPI_SUCCESS)
    throw failure(code, "a function of a generalized request failed", r.where);
}

void look_at_status(const request_object& r, MPI_Status* status) {
  if (r.what != request_object::type::generalized) {
    const detail::rank_state* const owner = r.work != nullptr ? r.work->owner : nullptr;
    if (owner != nullptr && owner->watch != nullptr) [[unlikely]]
      owner->watch->seen_complete(*r.work);
    tell_status(r, status);
    if (r.is_partitioned()) correct_tag(r, status);
    return;
  }
  MPI_Status own{};
  set_empty_status(&own);
  if (r.details->query != nullptr) r.details->query(r.details->extra_state, &own);
  if (status != MPI_STATUS_IGNORE) *status = own;
}

}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_Grequest_start,
                  (MPI_Grequest_query_function * query_fn, MPI_Grequest_free_function* free_fn,
                   MPI_Grequest_cancel_function* cancel_fn, void* extra_state,
                   MPI_Request* request)) {
  return in_call(
      "MPI_Grequest_start", MPI_COMM_SELF,
      [&](state& me) {
        check_not_null(request, "request");
        request_object& r = me.requests.make();
        r.what = request_object::type::generalized;
        request_details& d = r.needed_details(me.details);
        d.query = query_fn;
        d.free = free_fn;
        d.cancel = cancel_fn;
        d.extra_state = extra_state;
        r.own_work.owner = &me.rank;
        watch(me, r.own_work, "MPI_Grequest_start");
        *request = handle_of(r);
      },
      query_fn, free_fn, cancel_fn, extra_state, request);
}
WEFT_MPI_FUNCTION(int, MPI_Grequest_complete, (MPI_Request request)) {
  return in_call(
      "MPI_Grequest_complete", MPI_COMM_SELF,
      [&](state& me) {
        request_object& r = checked_request(request);
        if (r.what != request_object::type::generalized)
          fail(MPI_ERR_REQUEST, "the request is no generalized one");
        weft::detail::complete(*me.rank.home, *r.work);
      },
      request);
}
