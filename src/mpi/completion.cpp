// Waits and tests for requests: one, any, some, all. MPI_REQUEST_NULL and inactive persistent requests
// are complete, and count as nothing where the standard says so.
#include <memory>
#include <span>
#include <string>

#include "mpi/profiling.hpp"
#include "mpi/request.hpp"
#include "mpi/state.hpp"
#include "mpi/status.hpp"
#include "mpi/transfer.hpp"
#include "mpi/type_ledger.hpp"

namespace weft::mpi {
namespace {

// Concludes a message with nothing unusual about it. False: nothing has been done.
[[gnu::always_inline]] inline bool concluded_shortly(state& me, request_object* r,
                                                     MPI_Request& handle, MPI_Status* status) {
  if (r == nullptr || r->details != nullptr || me.rank.watch != nullptr || is_bad(r->own_work))
      [[unlikely]]
    return false;
  if (status != MPI_STATUS_IGNORE) tell_status(*r, status);
  handle = MPI_REQUEST_NULL;
  if (!r->shared) me.requests.free(*r);
  return true;
}

std::span<MPI_Request> checked_list(int count, MPI_Request* handles) {
  check_count(count);
  if (count > 0) check_not_null(handles, "array_of_requests");
  return {handles, static_cast<std::size_t>(count)};
}

// The active requests of a list; of a short one, as most are, without memory of the heap.
class request_list {
 public:
  request_list(int count, MPI_Request* handles) : handles_(handles) {
    count_ = checked_list(count, handles).size();
    if (count_ > few) many_ = std::make_unique<request_object*[]>(count_);
    objects_ = many_ != nullptr ? many_.get() : few_;
    for (std::size_t i = 0; i < count_; ++i) {
      request_object* const r = active_request(handles[i]);
      objects_[i] = r;
      if (r == nullptr) continue;
      ++active_;
      if (!r->complete()) ++open_;
    }
  }
  request_list(const request_list&) = delete;
  request_list& operator=(const request_list&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] MPI_Request& handle(std::size_t i) const noexcept { return handles_[i]; }
  // Null: there is nothing to wait for.
  [[nodiscard]] request_object* operator[](std::size_t i) const noexcept { return objects_[i]; }
  [[nodiscard]] std::span<request_object* const> all() const noexcept { return {objects_, count_}; }
  [[nodiscard]] std::size_t active() const noexcept { return active_; }
  // When the list was made, or looked at again.
  [[nodiscard]] bool all_complete() const noexcept { return open_ == 0; }
  [[nodiscard]] bool any_complete() const noexcept { return open_ != active_; }
  void look_again() noexcept {
    open_ = 0;
    for (const request_object* r : all()) open_ += r != nullptr && !r->complete() ? 1 : 0;
  }
  // The next one from `from` on that is active and complete; size() when there is none.
  [[nodiscard]] std::size_t next_complete(std::size_t from) const noexcept {
    while (from < count_ && (objects_[from] == nullptr || !objects_[from]->complete())) ++from;
    return from;
  }

 private:
  static constexpr std::size_t few = 64;
  MPI_Request* handles_;
  std::size_t count_ = 0;
  std::size_t active_ = 0;
  std::size_t open_ = 0;
  request_object** objects_ = nullptr;
  std::unique_ptr<request_object*[]> many_;
  request_object* few_[few];
};

// What waits do until their requests are complete, tests do once: other ranks of the worker run.
void let_others_run(state& me) {
  me.rank.home->yield();
}

// --- One -----------------------------------------------------------------------------------------

void wait_for_one(state& me, MPI_Request* request, MPI_Status* status) {
  check_not_null(request, "request");
  request_object* const r = active_request(*request);
  if (r == nullptr) return set_empty_status(status);
  if (!r->complete()) wait_for_all(me, {request, 1}, WEFT_WAIT_NAMES("MPI_Wait"));
  if (!concluded_shortly(me, r, *request, status)) conclude(me, *r, *request, status);
}

void test_one(state& me, MPI_Request* request, int* flag, MPI_Status* status) {
  check_not_null(request, "request");
  check_not_null(flag, "flag");
  *flag = 0;
  request_object* const r = active_request(*request);
  if (r != nullptr && !r->complete()) {
    let_others_run(me);
    if (!r->complete()) return;
  }
  *flag = 1;
  if (r == nullptr) return set_empty_status(status);
  conclude(me, *r, *request, status);
}

// --- All -----------------------------------------------------------------------------------------

// Concludes every request whose number `next` names, until it names none. Errors are collected:
// each status has its own, and the call ends with MPI_ERR_IN_STATUS.
class conclusion {
 public:
  explicit conclusion(state& me) : me_(me) {}
  void add(request_object* r, MPI_Request& request, MPI_Status* status) {
    int code = MPI_SUCCESS;
    try {
      if (r == nullptr)
        set_empty_status(status);
      else
        conclude(me_, *r, request, status);
    } catch (const failure& f) {
      code = f.code();
      if (!failed_) first_ = f.what();
      if (!failed_) where_ = f.where();
      failed_ = true;
    }
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = code;
  }
  void check() const {
    if (failed_) [[unlikely]]
      throw failure(MPI_ERR_IN_STATUS, first_, where_);
  }

 private:
  state& me_;
  bool failed_ = false;
  std::string first_;
  MPI_Comm where_ = MPI_COMM_NULL;
};

MPI_Status* status_at(MPI_Status* statuses, std::size_t i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

void conclude_all(state& me, std::span<MPI_Request> handles, MPI_Status* statuses) {
  conclusion all(me);
  for (std::size_t i = 0; i < handles.size(); ++i) {
    request_object* const r = active_request(handles[i]);
    MPI_Status* const status = status_at(statuses, i);
    if (!concluded_shortly(me, r, handles[i], status))
      all.add(r, handles[i], status);
    else if (status != MPI_STATUS_IGNORE)
      status->MPI_ERROR = MPI_SUCCESS;
  }
  all.check();
}

void wait_for_all(state& me, int count, MPI_Request* requests, MPI_Status* statuses) {
  const std::span<MPI_Request> handles = checked_list(count, requests);
  wait_for_all(me, handles, WEFT_WAIT_NAMES("MPI_Waitall"));
  conclude_all(me, handles, statuses);
}

void test_all(state& me, int count, MPI_Request* handles, int* flag, MPI_Status* statuses) {
  check_not_null(flag, "flag");
  request_list requests(count, handles);
  if (!requests.all_complete()) {
    let_others_run(me);
    requests.look_again();
  }
  *flag = requests.all_complete();
  if (*flag != 0) conclude_all(me, {handles, requests.size()}, statuses);
}

// --- Any -----------------------------------------------------------------------------------------

// The first that is complete; MPI_UNDEFINED when none is active.
void conclude_any(state& me, const request_list& requests, int* index, MPI_Status* status) {
  if (requests.active() == 0) {
    *index = MPI_UNDEFINED;
    return set_empty_status(status);
  }
  const std::size_t first = requests.next_complete(0);
  *index = static_cast<int>(first);
  conclude(me, *requests[first], requests.handle(first), status);
}

void wait_for_any(state& me, int count, MPI_Request* handles, int* index, MPI_Status* status) {
  check_not_null(index, "index");
  const request_list requests(count, handles);
  if (!requests.any_complete()) wait_for(me, requests.all(), 1, WEFT_WAIT_NAMES("MPI_Waitany"));
  conclude_any(me, requests, index, status);
}

void test_any(state& me, int count, MPI_Request* handles, int* index, int* flag,
              MPI_Status* status) {
  check_not_null(index, "index");
  check_not_null(flag, "flag");
  request_list requests(count, handles);
  if (!requests.any_complete()) {
    let_others_run(me);
    requests.look_again();
  }
  *flag = requests.active() == 0 || requests.any_complete();
  *index = MPI_UNDEFINED;
  if (*flag != 0) conclude_any(me, requests, index, status);
}

// --- Some ----------------------------------------------------------------------------------------

void conclude_some(state& me, const request_list& requests, int* outcount, int* indices,
                   MPI_Status* statuses) {
  if (requests.active() == 0) {
    *outcount = MPI_UNDEFINED;
    return;
  }
  check_not_null(indices, "array_of_indices");
  std::size_t done = 0;
  conclusion some(me);
  for (std::size_t i = requests.next_complete(0); i < requests.size();
       i = requests.next_complete(i + 1)) {
    indices[done] = static_cast<int>(i);
    some.add(requests[i], requests.handle(i), status_at(statuses, done));
    ++done;
  }
  *outcount = static_cast<int>(done);
  some.check();
}

void wait_for_some(state& me, int count, MPI_Request* handles, int* outcount, int* indices,
                   MPI_Status* statuses) {
  check_not_null(outcount, "outcount");
  const request_list requests(count, handles);
  if (!requests.any_complete()) wait_for(me, requests.all(), 1, WEFT_WAIT_NAMES("MPI_Waitsome"));
  conclude_some(me, requests, outcount, indices, statuses);
}

void test_some(state& me, int count, MPI_Request* handles, int* outcount, int* indices,
               MPI_Status* statuses) {
  check_not_null(outcount, "outcount");
  request_list requests(count, handles);
  if (!requests.any_complete()) {
    let_others_run(me);
    requests.look_again();
  }
  conclude_some(me, requests, outcount, indices, statuses);
}

void get_status(state& me, MPI_Request request, int* flag, MPI_Status* status) {
  check_not_null(flag, "flag");
  *flag = 1;
  request_object* const r = active_request(request);
  if (r == nullptr) return set_empty_status(status);
  if (!r->complete()) let_others_run(me);
  *flag = r->complete();
  if (*flag != 0) look_at_status(*r, status);
}

// Of those that are looked at, and stay as they are. Null: there is nothing to wait for.
void look_at(const request_object* r, MPI_Status* status) {
  if (r == nullptr) return set_empty_status(status);
  look_at_status(*r, status);
  if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = MPI_SUCCESS;
}

request_list looked_at(int count, const MPI_Request* handles) {
  return {count, const_cast<MPI_Request*>(handles)};  // Only waits and tests change them.
}

void look_at_all(state& me, int count, const MPI_Request* handles, int* flag,
                 MPI_Status* statuses) {
  check_not_null(flag, "flag");
  request_list requests = looked_at(count, handles);
  if (!requests.all_complete()) {
    let_others_run(me);
    requests.look_again();
  }
  *flag = requests.all_complete();
  if (*flag == 0) return;
  for (std::size_t i = 0; i < requests.size(); ++i) look_at(requests[i], status_at(statuses, i));
}

void look_at_any(state& me, int count, const MPI_Request* handles, int* index, int* flag,
                 MPI_Status* status) {
  check_not_null(index, "index");
  check_not_null(flag, "flag");
  request_list requests = looked_at(count, handles);
  if (!requests.any_complete()) {
    let_others_run(me);
    requests.look_again();
  }
  *index = MPI_UNDEFINED;
  *flag = requests.active() == 0 || requests.any_complete();
  if (requests.active() == 0) return set_empty_status(status);
  if (*flag == 0) return;
  const std::size_t first = requests.next_complete(0);
  *index = static_cast<int>(first);
  look_at(requests[first], status);
}

void look_at_some(state& me, int count, const MPI_Request* handles, int* outcount, int* indices,
                  MPI_Status* statuses) {
  check_not_null(outcount, "outcount");
  request_list requests = looked_at(count, handles);
  if (!requests.any_complete()) {
    let_others_run(me);
    requests.look_again();
  }
  *outcount = MPI_UNDEFINED;
  if (requests.active() == 0) return;
  check_not_null(indices, "array_of_indices");
  std::size_t found = 0;
  for (std::size_t i = requests.next_complete(0); i < requests.size();
       i = requests.next_complete(i + 1)) {
    indices[found] = static_cast<int>(i);
    look_at(requests[i], status_at(statuses, found));
    ++found;
  }
  *outcount = static_cast<int>(found);
}

// A send whose data wait for their receiver. Whether it is taken back is known when it completes.
void cancel_send(state& me, request_object& r) {
  detail::operation& op = *r.work;
  if (r.complete()) return;
  const auto c = detail::find_communicator(me.rank, op.match.context);
  if (c == nullptr) return;
  const detail::peer& to = c->to(op.peer);
  if (keeps_ledger(me)) note_asked_back(me, op, to.number);
  detail::ask_back(*me.rank.home, to, op);
}

// What nothing has matched is taken back; else the request completes as if nothing had been said.
void cancel(state& me, MPI_Request* request) {
  check_not_null(request, "request");
  request_object& r = checked_request(*request);
  if (!r.active) fail(MPI_ERR_REQUEST, "the request is not active: there is nothing to cancel");
  if (r.details != nullptr && r.details->exchange)
    fail(MPI_ERR_REQUEST, "a request of MPI_Isendrecv cannot be cancelled");
  if (r.what == request_object::type::generalized && r.details->cancel != nullptr) {
    const int code = r.details->cancel(r.details->extra_state, r.complete());
    if (code != MPI_SUCCESS) fail(code, "the cancel function of a generalized request failed");
  }
  if (r.what == request_object::type::send) return cancel_send(me, r);
  if (r.what != request_object::type::receive || r.work->posted_in == nullptr) return;
  me.rank.lists.withdraw(*r.work);
  r.work->complete = true;
  r.cancelled = true;
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_Wait, (MPI_Request * request, MPI_Status* status)) {
  return in_call(
      "MPI_Wait", MPI_COMM_SELF, [&](state& me) { wait_for_one(me, request, status); }, request,
      status);
}
WEFT_MPI_FUNCTION(int, MPI_Test, (MPI_Request * request, int* flag, MPI_Status* status)) {
  return in_call(
      "MPI_Test", MPI_COMM_SELF, [&](state& me) { test_one(me, request, flag, status); }, request,
      flag, status);
}
WEFT_MPI_FUNCTION(int, MPI_Waitall,
                  (int count, MPI_Request* array_of_requests, MPI_Status* array_of_statuses)) {
  return in_call(
      "MPI_Waitall", MPI_COMM_SELF,
      [&](state& me) { wait_for_all(me, count, array_of_requests, array_of_statuses); }, count,
      array_of_requests, array_of_statuses);
}
WEFT_MPI_FUNCTION(int, MPI_Testall,
                  (int count, MPI_Request* array_of_requests, int* flag,
                   MPI_Status* array_of_statuses)) {
  return in_call(
      "MPI_Testall", MPI_COMM_SELF,
      [&](state& me) { test_all(me, count, array_of_requests, flag, array_of_statuses); }, count,
      array_of_requests, flag, array_of_statuses);
}
WEFT_MPI_FUNCTION(int, MPI_Waitany,
                  (int count, MPI_Request* array_of_requests, int* index, MPI_Status* status)) {
  return in_call(
      "MPI_Waitany", MPI_COMM_SELF,
      [&](state& me) { wait_for_any(me, count, array_of_requests, index, status); }, count,
      array_of_requests, index, status);
}
WEFT_MPI_FUNCTION(int, MPI_Testany,
                  (int count, MPI_Request* array_of_requests, int* index, int* flag,
                   MPI_Status* status)) {
  return in_call(
      "MPI_Testany", MPI_COMM_SELF,
      [&](state& me) { test_any(me, count, array_of_requests, index, flag, status); }, count,
      array_of_requests, index, flag, status);
}
WEFT_MPI_FUNCTION(int, MPI_Waitsome,
                  (int incount, MPI_Request* array_of_requests, int* outcount,
                   int* array_of_indices, MPI_Status* array_of_statuses)) {
  return in_call(
      "MPI_Waitsome", MPI_COMM_SELF,
      [&](state& me) {
        wait_for_some(me, incount, array_of_requests, outcount, array_of_indices,
                      array_of_statuses);
      },
      incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
}
WEFT_MPI_FUNCTION(int, MPI_Testsome,
                  (int incount, MPI_Request* array_of_requests, int* outcount,
                   int* array_of_indices, MPI_Status* array_of_statuses)) {
  return in_call(
      "MPI_Testsome", MPI_COMM_SELF,
      [&](state& me) {
        test_some(me, incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
      },
      incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
}

WEFT_MPI_FUNCTION(int, MPI_Request_get_status,
                  (MPI_Request request, int* flag, MPI_Status* status)) {
  return in_call(
      "MPI_Request_get_status", MPI_COMM_SELF,
      [&](state& me) { get_status(me, request, flag, status); }, request, flag, status);
}
WEFT_MPI_FUNCTION(int, MPI_Request_get_status_all,
                  (int count, const MPI_Request* array_of_requests, int* flag,
                   MPI_Status* array_of_statuses)) {
  return in_call(
      "MPI_Request_get_status_all", MPI_COMM_SELF,
      [&](state& me) { look_at_all(me, count, array_of_requests, flag, array_of_statuses); }, count,
      array_of_requests, flag, array_of_statuses);
}
WEFT_MPI_FUNCTION(int, MPI_Request_get_status_any,
                  (int count, const MPI_Request* array_of_requests, int* index, int* flag,
                   MPI_Status* status)) {
  return in_call(
      "MPI_Request_get_status_any", MPI_COMM_SELF,
      [&](state& me) { look_at_any(me, count, array_of_requests, index, flag, status); }, count,
      array_of_requests, index, flag, status);
}
WEFT_MPI_FUNCTION(int, MPI_Request_get_status_some,
                  (int incount, const MPI_Request* array_of_requests, int* outcount,
                   int* array_of_indices, MPI_Status* array_of_statuses)) {
  return in_call(
      "MPI_Request_get_status_some", MPI_COMM_SELF,
      [&](state& me) {
        look_at_some(me, incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
      },
      incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
}
WEFT_MPI_FUNCTION(int, MPI_Request_free, (MPI_Request * request)) {
  return in_call(
      "MPI_Request_free", MPI_COMM_SELF,
      [&](state& me) {
        check_not_null(request, "request");
        free_request(me, *request);
      },
      request);
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

// --- Generalized ---------------------------------------------------------------------------------

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
        r.work->complete = true;
        if (r.work->counter != nullptr) me.rank.home->complete(*r.work->counter);
      },
      request);
}
