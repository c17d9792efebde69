// Waits and tests for requests: one, any, some, all. MPI_REQUEST_NULL and inactive persistent requests
// are complete, and count as nothing where the standard says so.
#include <memory>
#include <span>
#include <string>

#include "mpi/object/profiling.hpp"
#include "mpi/object/request.hpp"
#include "mpi/object/state.hpp"
#include "mpi/object/status.hpp"
#include "mpi/point_to_point/partitioned.hpp"
#include "rank/messages.hpp"
#include "trace/mixing.hpp"

namespace weft::mpi {
namespace {

// Concludes a message with nothing unusual about it, in a job that is not checked. False: nothing has been done.
[[gnu::always_inline]] inline bool concluded_shortly(state& me, MPI_Request& handle,
                                                     MPI_Status* status) {
  auto* const r = find_object<request_object>(handle);
  if (r == nullptr || !r->is_plain() || is_bad(r->own_work)) [[unlikely]]
    return false;
  if (status != MPI_STATUS_IGNORE) tell_status(*r, status);
  if (!r->shared) me.requests.free(*r);
  handle = MPI_REQUEST_NULL;
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
    look_up();
  }
  request_list(const request_list&) = delete;
  request_list& operator=(const request_list&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] MPI_Request& handle(std::size_t i) const noexcept { return handles_[i]; }
  // Null: there is nothing to wait for.
  [[nodiscard]] request_object* operator[](std::size_t i) const noexcept { return objects_[i]; }
  [[nodiscard]] std::span<request_object* const> all() const noexcept { return {objects_, count_}; }
  [[nodiscard]] std::size_t active() const noexcept { return active_; }
  // When the list was made.
  [[nodiscard]] bool all_complete() const noexcept { return open_ == 0; }
  [[nodiscard]] bool any_complete() const noexcept { return open_ != active_; }
  // The same, but before a test fails other ranks of the worker run, as they do in a wait.
  [[nodiscard]] bool all_complete(state& me) {
    if (!all_complete()) look_again(me);
    return all_complete();
  }
  [[nodiscard]] bool any_complete(state& me) {
    if (!any_complete()) look_again(me);
    return any_complete();
  }
  // Returns when one is complete or none is active: another thread of the rank may end some meanwhile.
  void wait_for_one(state& me, const wait_names& call) {
    while (active_ != 0 && !any_complete()) {
      wait_for(me, all(), 1, call);
      if (!me.rank.home->is_shared()) [[likely]]
        return;
      look_up();
    }
  }
  // The next one from `from` on that is active and complete; size() when there is none.
  [[nodiscard]] std::size_t next_complete(std::size_t from) const noexcept {
    while (from < count_ && (objects_[from] == nullptr || !objects_[from]->has_ended())) ++from;
    return from;
  }

 private:
  void look_up() {
    active_ = open_ = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      request_object* const r = active_request(handles_[i]);
      objects_[i] = r;
      if (r == nullptr) continue;
      ++active_;
      if (r->complete()) continue;
      ++open_;
      if (r->is_interrupted()) r->own_work.failed = false;  // The program has been told.
    }
  }
  void look_again(state& me) {
    me.rank.home->yield();
    if (me.rank.home->is_shared()) [[unlikely]]
      return look_up();
    open_ = 0;
    for (request_object* r : all()) {
      if (r == nullptr || r->complete()) continue;
      interrupt_if_lost(me, *r);
      open_ += r->has_ended() ? 0 : 1;
    }
  }

  static constexpr std::size_t few = 64;
  MPI_Request* handles_;
  std::size_t count_ = 0;
  std::size_t active_ = 0;
  std::size_t open_ = 0;
  request_object** objects_ = nullptr;
  std::unique_ptr<request_object*[]> many_;
  request_object* few_[few];
};

// For the accounts: whether a test has found what it asks for. A test that fails is a wait of length zero, and a row of them
// is one wait. Called before requests are concluded.
void note_answer(const state& me, const void* asked, bool is_complete) {
  if (!tracing()) [[likely]]
    return;
  if (detail::goes_on_beside(*me.rank.home)) return;
  const std::uint64_t what = mixed(reinterpret_cast<std::uintptr_t>(asked));
  if (is_complete)
    profile::asked_well(me.rank.number, what);
  else
    profile::asked_in_vain(me.rank.number, what);
}

// --- One -----------------------------------------------------------------------------------------

// Meanwhile another thread may have tested or freed it, which is looked up again.
[[gnu::noinline]] void conclude_long(state& me, MPI_Request& request, MPI_Status* status) {
  if (request_object* const r = active_request(request); r != nullptr)
    conclude(me, *r, request, status);
  else
    set_empty_status(status);
}

void wait_for_one(state& me, MPI_Request* request, MPI_Status* status) {
  check_not_null(request, "request");
  request_object* const r = active_request(*request);
  if (r == nullptr) return set_empty_status(status);
  if (!r->complete()) wait_for_all(me, {request, 1}, WEFT_WAIT_NAMES("MPI_Wait"));
  if (me.rank.watch != nullptr || !concluded_shortly(me, *request, status))
    conclude_long(me, *request, status);
}

void test_one(state& me, MPI_Request* request, int* flag, MPI_Status* status) {
  check_not_null(request, "request");
  check_not_null(flag, "flag");
  *flag = 0;
  request_object* r = active_request(*request);
  if (r != nullptr && !r->complete()) {
    me.rank.home->yield();
    if (me.rank.home->is_shared()) [[unlikely]]
      r = active_request(*request);
    if (r != nullptr && r->is_partitioned() && !r->complete()) await_end_of_arrived(me, *r);
    if (r != nullptr && !r->complete()) interrupt_if_lost(me, *r);
    if (r != nullptr && !r->has_ended()) return note_answer(me, request, false);
  }
  *flag = 1;
  if (r == nullptr) return set_empty_status(status);
  note_answer(me, request, true);
  conclude(me, *r, *request, status);
}

// --- All -----------------------------------------------------------------------------------------

// Of requests that end in one call. Errors are collected: each status has its own, and the call ends with
// MPI_ERR_IN_STATUS.
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
      if (!failed_) file_ = f.file();
      failed_ = true;
    }
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = code;
  }
  void check() const {
    if (failed_) [[unlikely]]
      throw failure(MPI_ERR_IN_STATUS, first_, where_, file_);
  }

 private:
  state& me_;
  bool failed_ = false;
  std::string first_;
  MPI_Comm where_ = MPI_COMM_NULL;
  MPI_File file_ = MPI_FILE_NULL;
};

MPI_Status* status_at(MPI_Status* statuses, std::size_t i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

void conclude_all(state& me, std::span<MPI_Request> handles, MPI_Status* statuses) {
  conclusion all(me);
  if (statuses == MPI_STATUSES_IGNORE && me.rank.watch == nullptr) {
    const MPI_Request gone = handle_of(me.done);
    for (MPI_Request& handle : handles)
      if (handle == gone)
        handle = MPI_REQUEST_NULL;
      else if (!concluded_shortly(me, handle, MPI_STATUS_IGNORE)) [[unlikely]]
        all.add(active_request(handle), handle, MPI_STATUS_IGNORE);
  } else {
    for (std::size_t i = 0; i < handles.size(); ++i)
      all.add(active_request(handles[i]), handles[i], status_at(statuses, i));
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
  *flag = requests.all_complete(me);
  note_answer(me, handles, *flag != 0);
  if (*flag != 0) conclude_all(me, {handles, requests.size()}, statuses);
}

// --- Any -----------------------------------------------------------------------------------------

// Calls end(request, handle, status) for the first that is complete; MPI_UNDEFINED when none is active.
template <class End>
void end_any(const request_list& requests, int* index, MPI_Status* status, const End& end) {
  if (requests.active() == 0) {
    *index = MPI_UNDEFINED;
    return set_empty_status(status);
  }
  const std::size_t first = requests.next_complete(0);
  *index = static_cast<int>(first);
  end(*requests[first], requests.handle(first), status);
}

auto conclusion_of(state& me) {
  return [&me](request_object& r, MPI_Request& handle, MPI_Status* status) {
    conclude(me, r, handle, status);
  };
}

void wait_for_any(state& me, int count, MPI_Request* handles, int* index, MPI_Status* status) {
  check_not_null(index, "index");
  request_list requests(count, handles);
  requests.wait_for_one(me, WEFT_WAIT_NAMES("MPI_Waitany"));
  end_any(requests, index, status, conclusion_of(me));
}

template <class End>
void test_any(state& me, int count, MPI_Request* handles, int* index, int* flag, MPI_Status* status,
              const End& end) {
  check_not_null(index, "index");
  check_not_null(flag, "flag");
  request_list requests(count, handles);
  *flag = requests.any_complete(me) || requests.active() == 0;
  note_answer(me, handles, *flag != 0);
  *index = MPI_UNDEFINED;
  if (*flag != 0) end_any(requests, index, status, end);
}

// --- Some ----------------------------------------------------------------------------------------

// Calls end(request, handle, status) for each that is complete; MPI_UNDEFINED when none is active.
template <class End>
void end_some(const request_list& requests, int* outcount, int* indices, MPI_Status* statuses,
              const End& end) {
  if (requests.active() == 0) {
    *outcount = MPI_UNDEFINED;
    return;
  }
  check_not_null(indices, "array_of_indices");
  std::size_t done = 0;
  for (std::size_t i = requests.next_complete(0); i < requests.size();
       i = requests.next_complete(i + 1)) {
    indices[done] = static_cast<int>(i);
    end(requests[i], requests.handle(i), status_at(statuses, done));
    ++done;
  }
  *outcount = static_cast<int>(done);
}

void conclude_some(state& me, const request_list& requests, int* outcount, int* indices,
                   MPI_Status* statuses) {
  conclusion some(me);
  end_some(requests, outcount, indices, statuses,
           [&](request_object* r, MPI_Request& handle, MPI_Status* status) {
             some.add(r, handle, status);
           });
  some.check();
}

void wait_for_some(state& me, int count, MPI_Request* handles, int* outcount, int* indices,
                   MPI_Status* statuses) {
  check_not_null(outcount, "outcount");
  request_list requests(count, handles);
  requests.wait_for_one(me, WEFT_WAIT_NAMES("MPI_Waitsome"));
  conclude_some(me, requests, outcount, indices, statuses);
}

void test_some(state& me, int count, MPI_Request* handles, int* outcount, int* indices,
               MPI_Status* statuses) {
  check_not_null(outcount, "outcount");
  request_list requests(count, handles);
  note_answer(me, handles, requests.any_complete(me) || requests.active() == 0);
  conclude_some(me, requests, outcount, indices, statuses);
}

// --- Only looks ----------------------------------------------------------------------------------

void get_status(state& me, MPI_Request request, int* flag, MPI_Status* status) {
  check_not_null(flag, "flag");
  *flag = 1;
  request_object* r = active_request(request);
  if (r == nullptr) return set_empty_status(status);
  if (!r->complete()) {
    me.rank.home->yield();
    if (me.rank.home->is_shared()) [[unlikely]]
      r = active_request(request);
    if (r == nullptr) return set_empty_status(status);
  }
  *flag = r->complete();
  if (*flag != 0) look_at_status(*r, status);
}

// Sets the status of a complete request and leaves the request as it is. Null stands for MPI_REQUEST_NULL or an inactive request.
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
  *flag = requests.all_complete(me);
  if (*flag == 0) return;
  for (std::size_t i = 0; i < requests.size(); ++i) look_at(requests[i], status_at(statuses, i));
}

void look_at_any(state& me, int count, const MPI_Request* handles, int* index, int* flag,
                 MPI_Status* status) {
  test_any(
      me, count, const_cast<MPI_Request*>(handles), index, flag, status,
      [](const request_object& r, const MPI_Request&, MPI_Status* told) { look_at(&r, told); });
}

void look_at_some(state& me, int count, const MPI_Request* handles, int* outcount, int* indices,
                  MPI_Status* statuses) {
  check_not_null(outcount, "outcount");
  request_list requests = looked_at(count, handles);
  (void)requests.any_complete(me);
  end_some(requests, outcount, indices, statuses,
           [](const request_object* r, const MPI_Request&, MPI_Status* told) { look_at(r, told); });
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_WAITING_FUNCTION(int, MPI_Wait, (MPI_Request * request, MPI_Status* status)) {
  return in_call(
      "MPI_Wait", MPI_COMM_SELF, [&](state& me) { wait_for_one(me, request, status); }, request,
      status);
}
WEFT_MPI_FUNCTION(int, MPI_Test, (MPI_Request * request, int* flag, MPI_Status* status)) {
  return in_call(
      "MPI_Test", MPI_COMM_SELF, [&](state& me) { test_one(me, request, flag, status); }, request,
      flag, status);
}
WEFT_MPI_WAITING_FUNCTION(int, MPI_Waitall,
                          (int count, MPI_Request* array_of_requests,
                           MPI_Status* array_of_statuses)) {
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
      [&](state& me) {
        test_any(me, count, array_of_requests, index, flag, status, conclusion_of(me));
      },
      count, array_of_requests, index, flag, status);
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
