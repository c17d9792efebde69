// What MPI keeps for one rank. Only that rank, or a thread of it inside an `entrance`, touches it.
#pragma once
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/limits.hpp"
#include "collective/named_messages.hpp"
#include "job/accounted_call.hpp"
#include "mpi/object/attributes.hpp"
#include "mpi/object/births.hpp"
#include "mpi/object/communicator.hpp"
#include "mpi/object/datatype.hpp"
#include "mpi/object/error_handler.hpp"
#include "mpi/object/errors.hpp"
#include "mpi/object/file.hpp"
#include "mpi/object/group.hpp"
#include "mpi/object/handle_numbers.hpp"
#include "mpi/object/handles.hpp"
#include "mpi/object/info.hpp"
#include "mpi/object/message.hpp"
#include "mpi/object/operation.hpp"
#include "mpi/object/poll_hooks.hpp"
#include "mpi/object/request.hpp"
#include "mpi/object/session.hpp"
#include "mpi/object/window.hpp"
#include "rank/names.hpp"
#include "rank/state.hpp"
#include "sched/attached_thread.hpp"

namespace weft::mpi {

// A handle that no program has: find_communicator() compares with it while the predefined communicators are not there.
inline const MPI_Comm no_handle = reinterpret_cast<MPI_Comm>(~std::uintptr_t{0});

// MPI's slot among the faces of a job (job/face.hpp).
inline constexpr std::size_t face_slot = 0;

struct section_cache;

struct state final : detail::face_state, detail::face_names {
  explicit state(detail::rank_state& r);
  ~state() override;

  [[nodiscard]] bool is_open() const noexcept { return open.load(std::memory_order_relaxed); }
  void close() noexcept {
    usable = false;
    open.store(false, std::memory_order_relaxed);
  }

  detail::rank_state& rank;
  const std::unique_ptr<birth_list> births;  // Null unless the job is checked. Outlives the pools.
  // Datatypes of sections of Fortran arrays that calls have used last (fortran/sections.cpp); null: none.
  std::shared_ptr<section_cache> last_sections;
  // True between MPI_Init and MPI_Finalize, and while there are sessions, until a fatal error. Relaxed: the program orders its threads' calls after
  // MPI_Init and before MPI_Finalize, and a fatal error ends the job soon.
  std::atomic<bool> open{false};
  // True in the usual case: open, and nothing has to be done when a call begins or ends.
  bool usable = false;
  bool initialized = false;
  bool finalized = false;
  int thread_level = MPI_THREAD_SINGLE;          // Of MPI_Init.
  int highest_thread_level = MPI_THREAD_SINGLE;  // Of that and all sessions.
  // Whether MPI_Init has been called, and MPI_Finalize not.
  [[nodiscard]] bool has_world() const noexcept { return initialized && !finalized; }
  int tools_started = 0;  // Calls of MPI_T_init_thread without MPI_T_finalize.
  // The sessions of MPI_T_pvar_session_create that live, by the values of their handles.
  std::set<std::uintptr_t> tools_sessions;
  std::uintptr_t last_tools_session = 0;

  // Set from MPI_Init, or the first session, on. The program has them from MPI_Init to MPI_Finalize only: then the handles
  // are MPI_COMM_WORLD and MPI_COMM_SELF.
  std::optional<communicator_object> world;
  std::optional<communicator_object> self;
  MPI_Comm world_handle = no_handle;
  MPI_Comm self_handle = no_handle;

  pool<session_object> sessions;
  std::uint32_t sessions_made = 0;
  detail::named_inbox named;  // Calls that make communicators out of groups.

  pool<communicator_object> communicators;
  std::vector<communicator_object*> retired;  // Freed while requests or messages still used them.
  pool<datatype_object> datatypes;
  pool<group_object> groups;
  pool<operation_object> operations;
  pool<info_object> infos;
  pool<error_handler_object> error_handlers;
  pool<window_object> windows;
  pool<file_object> files;
  MPI_Errhandler handler_of_no_file = MPI_ERRORS_RETURN;  // That of MPI_FILE_NULL.
  data_representations representations;                   // Those that the program has registered.
  group_object empty_group{{}};                           // MPI_GROUP_EMPTY.
  info_object environment;  // MPI_INFO_ENV; filled in when it is first asked for.
  attributes_state attributes;
  added_codes codes;
  struct {
    int code = MPI_SUCCESS;
    std::string text;
  } last_failure;                                           // For MPI_Error_string().
  std::map<MPI_Datatype, std::string> names_of_predefined;  // Those that the program has set.

  std::shared_ptr<class type_ledger> types;  // In a checked job.

  details_pool details;  // Outlives the requests.
  pool<request_object> requests;
  // One request for all sends that were complete at once, and one for all receives from MPI_PROC_NULL.
  request_object done;
  request_object received_from_nobody;
  std::vector<request_object*> orphans;  // Freed by the program while under way.
  poll_hooks hooks;
  pool<message_object> messages;
  // The buffers of MPI_Buffer_attach, and of MPI_Comm_attach_buffer by the communicators' contexts. Sessions have theirs.
  attached_buffer buffer;
  std::map<std::uint32_t, attached_buffer> own_buffers;
  std::uint64_t buffered_sends = 0;  // How many had to wait.
  // In a checked job: sends that were let go because every rank waited (point_to_point/held_send.hpp), and how many more
  // may be held.
  struct unsafe_send {
    const detail::operation* op;
    std::string text;
    diagnosis::call_list place;
  };
  std::vector<unsafe_send> unsafe_sends;
  int holds_left = held_sends_let_go_max;
  // The datatypes of MPI_Type_create_f90_real and similar functions, by combiner and arguments.
  std::map<std::array<int, 3>, datatype_object*> parametrized;
  handle_numbers fortran_handles;

  [[nodiscard]] const communicator_object* find_by_context(std::uint32_t context);

  void ended() override;  // The rank has left its program.
  void cut_short() noexcept override;
  void home_is_shared() noexcept override { usable = false; }
  [[nodiscard]] std::string name_of_communicator(std::uint32_t context) override;
  [[nodiscard]] std::string name_of_peer(std::uint32_t context, int peer) override;
  [[nodiscard]] std::string name_of_source(std::uint32_t context, int source) override;
};

// Makes what `world` and `self` hold, unless it is there.
void make_predefined_communicators(state& me);
// Called by each rank in MPI_Init: in a job that was spawned, it meets the ranks that have called MPI_Comm_spawn.
void join_parent(state& me);
// A rank has a communicator with ranks of another job, and may wait for that one: its rest is no deadlock until
// look_for_other_jobs(), called when communicators have been freed and in MPI_Finalize, finds none any more.
void hold_other_job(state& me, std::shared_ptr<const void> awaited);
void look_for_other_jobs(state& me);
// Called when the last of MPI_Init's life and the sessions ends: in a checked job, tells of objects that are left.
void tell_of_rest(state& me, const char* call);

// The calling rank's state, made by its first call of MPI; null when the caller is no rank.
[[nodiscard]] state* find_state();
// The calling rank's state, also before MPI_Init; throws weft::error when the caller is no rank.
[[nodiscard]] state& calling_at_any_time(const char* call);
[[noreturn, gnu::cold]] void refuse_call(const char* call);

// Called when a rank ends the tools interface, or ends itself: its registrations of events go.
void end_events_of(state& me);

// The calling rank's state in the usual case (state::usable); null otherwise.
[[gnu::always_inline]] inline state* usable_state() noexcept {
  void* const caller = worker::caller();
  if (caller == nullptr) [[unlikely]]
    return nullptr;
  auto* const s =
      static_cast<state*>(static_cast<detail::rank_state*>(caller)->faces[face_slot].get());
  return s != nullptr && s->usable ? s : nullptr;
}

// Made at the begin of each call of MPI. While it lives, the calling thread may use the rank's state. It is the rank's own
// thread, or one that a rank with MPI_THREAD_SERIALIZED or more has made (threads.cpp); checked() throws for any other.
class entrance {
 public:
  [[gnu::always_inline]] entrance() : me_(usable_state()) {
    if (me_ == nullptr) [[unlikely]]
      enter_unusual();
  }
  [[gnu::always_inline]] ~entrance() {
    if (entered_) [[unlikely]]
      leave();
  }
  entrance(const entrance&) = delete;
  entrance& operator=(const entrance&) = delete;
  // The rank's state; throws when MPI is not initialised, finalised, or the caller is no rank.
  [[nodiscard, gnu::always_inline]] state& checked(const char* call) const {
    if (me_ == nullptr) [[unlikely]]
      refuse_call(call);
    return *me_;
  }
  // The same for calls that are allowed before MPI_Init and after MPI_Finalize.
  [[nodiscard]] state& checked_at_any_time(const char* call) const {
    return me_ != nullptr ? *me_ : calling_at_any_time(call);
  }

 private:
  [[gnu::noinline]] void enter_unusual();
  [[gnu::noinline]] void leave() noexcept;
  state* me_;
  bool entered_ = false;  // The call has taken the worker's hand-off lock, and gives it up.
  std::optional<attached_thread> attached_thread_;  // Set on a thread that the rank has made.
};

[[nodiscard]] bool called_by_own_thread() noexcept;
// Called on a thread that is not the rank's own: ends the job, for the reason `why` if it is not empty.
[[noreturn, gnu::cold]] void end_foreign_thread(const std::string& why, int status = 1);
// Called while job_stopped is handled. It rethrows on a rank's own thread; other threads must not let it pass.
[[gnu::cold]] void pass_on_stop();

// The frame of every MPI function that may fail: in_call("MPI_Send", comm, body, arguments...) calls body(state).
// Errors go to the error handler of `comm`, or of a window; MPI_COMM_SELF stands for no communicator. The arguments are for
// the error's text.
template <class Handle, class Body, class... Arguments>
[[gnu::always_inline]] inline int in_call(const char* name, Handle where, const Body& body,
                                          const Arguments&... arguments) {
  const entrance in;
  const detail::accounted_call counted(name, __builtin_return_address(0));
  try {
    body(in.checked(name));
    return MPI_SUCCESS;
  } catch (const std::exception&) {
    return end_in_error(where, text_of_call(name, arguments...));
  } catch (const job_stopped&) {
    pass_on_stop();
    return MPI_ERR_OTHER;  // Not reached.
  }
}

// The frame of functions that may be called before MPI_Init and after MPI_Finalize too.
template <class Body, class... Arguments>
int in_call_at_any_time(const char* name, const Body& body, const Arguments&... arguments) {
  const entrance in;
  try {
    body(in.checked_at_any_time(name));
    return MPI_SUCCESS;
  } catch (const std::exception&) {
    return end_in_error(MPI_COMM_SELF, text_of_call(name, arguments...));
  } catch (const job_stopped&) {
    pass_on_stop();
    return MPI_ERR_OTHER;  // Not reached.
  }
}

// --- Checks of arguments -------------------------------------------------------------------------
// One check for each kind of argument. A check throws `failure` with the error class.
[[noreturn, gnu::cold]] void fail_communicator(MPI_Comm comm);
[[nodiscard]] inline communicator_object* find_communicator(state& me, MPI_Comm comm) {
  if (comm == me.world_handle) [[likely]]
    return &*me.world;
  if (comm == me.self_handle) return &*me.self;
  return find_object<communicator_object>(comm);
}
[[nodiscard]] inline communicator_object& checked_communicator(state& me, MPI_Comm comm) {
  if (auto* const c = find_communicator(me, comm); c != nullptr) [[likely]]
    return *c;
  fail_communicator(comm);
}

// The communicator of a request or of a matched message, which the program may have freed meanwhile.
[[nodiscard]] inline communicator_object* find_referred(state& me, MPI_Comm comm) {
  communicator_object* const c = find_communicator(me, comm);
  return c != nullptr ? c : find_object<communicator_object>(comm, object_kind::retired);
}

// "ranks of MPI_COMM_WORLD are 0 to 3", or of the remote group.
[[nodiscard]] std::string ranks_of(const communicator_object& c);
[[noreturn, gnu::cold]] void fail_revoked(MPI_Comm where = MPI_COMM_NULL);
[[noreturn, gnu::cold]] void fail_peer(const communicator_object& c, int rank, const char* what);
// Of a receive from any rank, where there is none: throws if the communicator is revoked.
[[gnu::cold]] inline void fail_any_source(const communicator_object& c) {
  if (c.is_revoked()) fail_revoked();
}
// A rank that a message may go to or come from; not MPI_PROC_NULL, which callers treat before.
inline void check_peer(const communicator_object& c, int rank, const char* what) {
  if (rank < 0 || rank >= c.open_peers) [[unlikely]]
    fail_peer(c, rank, what);
}
[[noreturn, gnu::cold]] void fail_tag(int tag);
inline void check_tag(int tag) {
  if (tag < 0) [[unlikely]]
    fail_tag(tag);
}
[[noreturn, gnu::cold]] void fail_count(long count);
inline void check_count(MPI_Count count) {
  if (count < 0) [[unlikely]]
    fail_count(count);
}
[[noreturn, gnu::cold]] void fail_size(MPI_Count count, const datatype_object& type);
// The data bytes of `count` elements, without gaps.
[[nodiscard]] inline std::size_t bytes_of(MPI_Count count, const datatype_object& type) {
  MPI_Count bytes = 0;
  if (__builtin_mul_overflow(count, static_cast<MPI_Count>(type.size), &bytes)) [[unlikely]]
    fail_size(count, type);
  return static_cast<std::size_t>(bytes);
}

[[noreturn, gnu::cold]] void fail_datatype(MPI_Datatype type);
// A datatype, committed or not, as constructors take it.
[[nodiscard]] inline datatype_object& checked_datatype(MPI_Datatype type) {
  if (is_predefined(type)) [[likely]] {
    datatype_object* const predefined = find_predefined(type);
    if (predefined != nullptr) [[likely]]
      return *predefined;
  } else if (auto* const made = find_object<datatype_object>(type); made != nullptr) {
    return *made;
  }
  fail_datatype(type);
}
[[noreturn, gnu::cold]] void fail_uncommitted(MPI_Datatype type);
// A committed datatype, as messages need it.
[[nodiscard]] inline datatype_object& committed_datatype(MPI_Datatype type) {
  datatype_object& t = checked_datatype(type);
  if (!t.committed) [[unlikely]]
    fail_uncommitted(type);
  return t;
}

}  // namespace weft::mpi
