// From MPI_Init to MPI_Finalize, the end by MPI_Abort, clocks, names and versions.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "collective/collectives.hpp"
#include "job/region.hpp"
#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"
#include "mpi/point_to_point/held_send.hpp"
#include "mpi/point_to_point/transfer.hpp"
#include "mpi/point_to_point/type_ledger.hpp"
#include "process/life/late_rank.hpp"
#include "trace/trace.hpp"
#include "weft/run.hpp"

namespace weft::mpi {
namespace {

// Set when some rank of this process initialises and finalises MPI. They answer MPI_Initialized and MPI_Finalized where
// there is no rank any more, such as in destructors of libraries after its end. Relaxed: nothing but the flags is read.
std::atomic<bool> has_been_initialized{false};
std::atomic<bool> has_been_finalized{false};

// Those that live meet, though some have died or the program has revoked the world.
void meet_living(state& me, const char* call) {
  try {
    detail::meet(*me.world->shared, me.world->own, call);
  } catch (const error& e) {
    const int code = detail::code_of(e);
    if (code != detail::process_died && code != detail::revoked) throw;
  }
}

// The meeting at the end of MPI_Init. A thread that a rank makes may call MPI only when every rank of its worker gives the
// hand-off lock up outside of calls; behind this meeting all ranks do.
void start_together(state& me) {
  worker& here = *me.rank.home;
  (void)here.enter_shared();
  if (me.thread_level >= MPI_THREAD_SERIALIZED) here.share();
  meet_living(me, "MPI_Init");  // One that has left MPI_Init may be dead already.
  me.usable = me.rank.of->checks == nullptr;
  me.rank.tell_faces_if_shared();
  here.leave_shared();
}

void check_thread_level(int required) {
  if (required != MPI_THREAD_SINGLE && required != MPI_THREAD_FUNNELED &&
      required != MPI_THREAD_SERIALIZED && required != MPI_THREAD_MULTIPLE)
    fail(MPI_ERR_ARG,
         "required is {}, which is none of MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, "
         "MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE",
         required);
}

void initialize(state& me, int required, int* provided) {
  if (me.initialized)
    fail(MPI_ERR_OTHER, "MPI {}: call it once",
         me.finalized ? "has been finalised and cannot be initialised again"
                      : "is initialised already");
  make_predefined_communicators(me);
  me.world_handle = MPI_COMM_WORLD;
  me.self_handle = MPI_COMM_SELF;
  me.thread_level = required;
  me.highest_thread_level = std::max(me.highest_thread_level, me.thread_level);
  me.initialized = true;
  has_been_initialized.store(true, std::memory_order_relaxed);
  me.open.store(true, std::memory_order_relaxed);
  start_together(me);
  join_parent(me);
  if (provided != nullptr) *provided = me.thread_level;
}

void copy_text(const std::string& text, std::size_t room, char* to, int* length) {
  const std::size_t size = std::min(text.size(), room - 1);
  std::memcpy(to, text.data(), size);
  to[size] = '\0';
  *length = static_cast<int>(size);
}

}  // namespace

void make_predefined_communicators(state& me) {
  if (me.world) return;
  const communicator all(me.rank.shared->world, me.rank.number);
  me.world.emplace(all);
  me.world->name = "MPI_COMM_WORLD";
  me.self.emplace(all.self());
  me.self->name = "MPI_COMM_SELF";
}

void tell_of_rest(state& me, const char* call) {
  if (me.births != nullptr) me.births->tell_left_over(*me.rank.of->checks, me.rank.number, call);
  free_taken_messages(me, call);
}

}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_Init, (int*, char***)) {
  return in_call_at_any_time("MPI_Init",
                             [](state& me) { initialize(me, MPI_THREAD_SINGLE, nullptr); });
}

WEFT_MPI_FUNCTION(int, MPI_Init_thread, (int*, char***, int required, int* provided)) {
  return in_call_at_any_time("MPI_Init_thread", [&](state& me) {
    check_not_null(provided, "provided");
    check_thread_level(required);
    initialize(me, required, provided);
  });
}

WEFT_MPI_FUNCTION(int, MPI_Initialized, (int* flag)) {
  const state* const me = find_state();
  *flag = me != nullptr ? me->initialized : has_been_initialized.load(std::memory_order_relaxed);
  return MPI_SUCCESS;
}

WEFT_MPI_FUNCTION(int, MPI_Finalized, (int* flag)) {
  const state* const me = find_state();
  *flag = me != nullptr ? me->finalized : has_been_finalized.load(std::memory_order_relaxed);
  return MPI_SUCCESS;
}

// Sessions may outlive MPI_Finalize: what is theirs stays as it is.
WEFT_MPI_FUNCTION(int, MPI_Finalize, (void)) {
  const int code = in_call("MPI_Finalize", MPI_COMM_SELF, [](state& me) {
    if (!me.has_world())
      fail(MPI_ERR_OTHER, "{}",
           me.finalized ? "MPI has been finalised: call it once"
                        : "MPI_Init has not been called: MPI_Session_finalize ends a session");
    const char* const call = "MPI_Finalize";
    finish_poll_hooks(me);
    const bool is_last = me.sessions.live() == 0;
    const auto concerned =
        is_last ? std::optional<std::uint32_t>() : std::optional<std::uint32_t>(no_session);
    delete_attributes(me, MPI_COMM_SELF, *me.self);
    finish_requests(me, call, WEFT_WAIT_NAMES("MPI_Finalize"), concerned);
    if (is_last) tell_of_rest(me, call);
    finish_buffered(me, "MPI_Finalize (buffered sends)", concerned);
    // Set before the meeting, which fails when a process has died: MPI ends in this rank all the same.
    me.finalized = true;
    has_been_finalized.store(true, std::memory_order_relaxed);
    meet_living(me, call);
    look_for_other_jobs(me);
    tell_unsafe_sends(me);
    if (keeps_ledger(me)) compare_types(me);
  });
  // Behind in_call(), which still needs the rank's state to call an error handler.
  if (state* const me = find_state(); me != nullptr && me->finalized) {
    me->world_handle = me->self_handle = weft::mpi::no_handle;
    if (me->sessions.live() == 0) {
      me->close();
      weft::process::end_late_rank();
    } else {
      // Errors of no object are no longer those of a communicator that the program could give a handler.
      set_error_handler(*me, *me->world, MPI_ERRORS_ARE_FATAL);
      set_error_handler(*me, *me->self, MPI_ERRORS_ARE_FATAL);
    }
  }
  return code;
}

WEFT_MPI_FUNCTION(int, MPI_Abort, (MPI_Comm comm, int errorcode)) {
  state* const me = find_state();
  if (me == nullptr) {
    weft::log_line("MPI_Abort({}, {}) was called outside of a rank", text_of(comm), errorcode);
    ::_exit(errorcode & 0xff);
  }
  // The exit status is never 0: a job that was aborted has failed, also with an errorcode of 0 or 256.
  const int status = (errorcode & 0xff) != 0 ? errorcode & 0xff : 1;
  const std::string text =
      weft::formatted("MPI_Abort({}, {}) ends the job", text_of(comm), errorcode);
  if (!called_by_own_thread()) end_foreign_thread(text, status);
  me->close();
  weft::process::leave_late_rank(std::make_exception_ptr(weft::rank_failure(text, status)));
  throw weft::rank_failure(text, status);
}

WEFT_MPI_FUNCTION(int, MPI_Query_thread, (int* provided)) {
  return in_call("MPI_Query_thread", MPI_COMM_SELF, [&](state& me) {
    check_not_null(provided, "provided");
    *provided = me.thread_level;
  });
}

WEFT_MPI_FUNCTION(int, MPI_Is_thread_main, (int* flag)) {
  return in_call("MPI_Is_thread_main", MPI_COMM_SELF, [&](state&) {
    check_not_null(flag, "flag");
    *flag = called_by_own_thread() ? 1 : 0;
  });
}

WEFT_MPI_FUNCTION(double, MPI_Wtime, (void)) {
  return static_cast<double>(weft::now_ns()) * 1e-9;
}
WEFT_MPI_FUNCTION(double, MPI_Wtick, (void)) {
  return 1e-9;
}

WEFT_MPI_FUNCTION(int, MPI_Get_processor_name, (char* name, int* resultlen)) {
  return in_call("MPI_Get_processor_name", MPI_COMM_SELF, [&](state&) {
    check_not_null(name, "name");
    check_not_null(resultlen, "resultlen");
    char host[MPI_MAX_PROCESSOR_NAME] = "";
    ::gethostname(host, sizeof host - 1);
    copy_text(host, MPI_MAX_PROCESSOR_NAME, name, resultlen);
  });
}

WEFT_MPI_FUNCTION(int, MPI_Get_version, (int* version, int* subversion)) {
  *version = MPI_VERSION;
  *subversion = MPI_SUBVERSION;
  return MPI_SUCCESS;
}

WEFT_MPI_FUNCTION(int, MPI_Abi_get_version, (int* abi_major, int* abi_minor)) {
  *abi_major = MPI_ABI_VERSION;
  *abi_minor = MPI_ABI_SUBVERSION;
  return MPI_SUCCESS;
}

WEFT_MPI_FUNCTION(int, MPI_Get_library_version, (char* version, int* resultlen)) {
  copy_text("weft " WEFT_VERSION, MPI_MAX_LIBRARY_VERSION_STRING, version, resultlen);
  return MPI_SUCCESS;
}

// A level n above 1 begins the region "phase n" of the timeline, and one below -1 ends the last region that was begun.
// Levels -1, 0 and 1 do nothing. The further arguments are not read: nothing says how many the program has passed.
WEFT_MPI_FUNCTION(int, MPI_Pcontrol, (const int level, ...)) {
  if (weft::tracing()) [[unlikely]] {
    if (level > 1) weft::detail::begin_region(weft::formatted("phase {}", level).c_str());
    if (level < -1) weft::detail::end_region();
  }
  return MPI_SUCCESS;
}
