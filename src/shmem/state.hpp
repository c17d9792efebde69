// What OpenSHMEM keeps for one PE, and for the PEs of a process. A PE is a rank of the job.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "job/accounted_call.hpp"
#include "rank/state.hpp"
#include "rma/initiator.hpp"
#include "sched/attached_thread.hpp"
#include "shmem/active_messages.hpp"
#include "shmem/environment.hpp"
#include "shmem/errors.hpp"
#include "shmem/heap.hpp"
#include "shmem/limits.hpp"
#include "shmem/sessions.hpp"
#include "shmem/shmem.h"
#include "shmem/symmetric_addresses.hpp"
#include "weft/comm/runtime.hpp"
#include "weft/communicator.hpp"

namespace weft::shmem {

// OpenSHMEM's slot among the faces of a job.
inline constexpr std::size_t face_slot = 2;

struct pe_state;

// The PEs of this process by number, null elsewhere; each writes its own in shmem_init(), before it meets the others.
struct process_state final : detail::face_job {
  explicit process_state(detail::job& j);
  detail::job& of;
  std::vector<pe_state*> pes;
  // Messages between processes: parts of active messages; how many of them have been handled.
  comm::handler_id part{};
  comm::handler_id handled{};
};

// Called in the same order in all processes.
void add_am_handlers(detail::handler_numbers& handlers, process_state& of);

struct team {
  std::optional<communicator> ranks;
  shmem_team_config_t config{0};
  std::uint32_t generation = 0;
  // Numbers of its PEs in the world; empty: they are the same.
  std::vector<int> in_world;
  [[nodiscard]] int size() const noexcept { return ranks->size(); }
  [[nodiscard]] int world_number(int pe) const noexcept {
    return in_world.empty() ? pe : in_world[static_cast<std::size_t>(pe)];
  }
};

struct context {
  team* of = nullptr;  // Null: destroyed.
  rma::context operations;
  shmem_team_t team_handle = SHMEM_TEAM_INVALID;
  long options = 0;
  std::unique_ptr<shmem::session> gathers;  // Null: the context is in no session that gathers.
  std::uint32_t generation = 0;
};

struct pe_state final : detail::face_state {
  explicit pe_state(detail::rank_state& r) : rank(r) {}
  // What each access touches. `usable`: between shmem_init() and shmem_finalize(), and no error yet; the fast paths are
  // closed while calls are traced or checked.
  bool has_fast_paths = false;
  bool usable = false;
  int number = 0;
  int size = 0;
  int looks_left =
      looks_in_a_row_max;  // So many times it may look at memory in a row, without a wait.
  rma::initiator* memory = nullptr;
  symmetric_addresses symmetric;
  rma::context operations;  // The default context.
  pe_state* const* pes = nullptr;
  int in_handler = 0;
  std::unique_ptr<session> gathers;  // The session of the default context; null: none gathers.
  int sessions = 0;                  // So many sessions gather, in all contexts.
  std::size_t next_of_any = 0;       // The next look for any of several words begins there.

  detail::rank_state& rank;
  std::uint32_t generations = 0;  // The last one of a handle of a team or context.
  int opened = 0;                 // Calls of shmem_init() without shmem_finalize().
  bool finalized = false;
  bool failed = false;
  int thread_level = SHMEM_THREAD_SINGLE;
  shmem::settings settings{};
  std::optional<heap_blocks> blocks;
  std::size_t large_pages_until = 0;  // Up to there the heap may lie in large pages.
  std::string heap_is_small_for;      // What has kept the default heap small; empty: nothing.
  std::vector<std::unique_ptr<team>> teams;        // The index is handle - 1; null: destroyed.
  std::vector<std::unique_ptr<context>> contexts;  // The index is handle - 2; kept when destroyed.
  std::map<std::tuple<int, int, int>, std::unique_ptr<team>> active_sets;
  am_state messages;

  // Returns where loads and stores reach so many elements at `pe`, which need not be a PE; null: they do not.
  [[gnu::always_inline, nodiscard]] std::byte* reached(const void* address, std::size_t count,
                                                       std::size_t element, int pe) const noexcept {
    return static_cast<unsigned>(pe) < static_cast<unsigned>(size)
               ? symmetric.reached(address, count, element, pe)
               : nullptr;
  }

  // Whether a wait on the fast path leaves nothing that others wait for. Called where usable_state() is this.
  [[nodiscard]] bool may_wait_at_once() const noexcept {
    return sessions == 0 && messages.being_handled == nullptr && !rank.home->is_shared();
  }

  void ended() override;  // The program of the rank has ended.
  void cut_short() noexcept override { close(); }
  void open() noexcept {
    usable = true;
    has_fast_paths = !tracing() && rank.of->checks == nullptr;
  }
  void close() noexcept { usable = has_fast_paths = false; }
};

// Null where there is none.
[[gnu::always_inline, nodiscard]] inline pe_state* state_of_caller() noexcept {
  void* const caller = worker::caller();
  if (caller == nullptr) [[unlikely]]
    return nullptr;
  return static_cast<pe_state*>(static_cast<detail::rank_state*>(caller)->faces[face_slot].get());
}
// Null when the caller may not call OpenSHMEM on the fast path now, for whatever reason.
[[gnu::always_inline, nodiscard]] inline pe_state* usable_state() noexcept {
  pe_state* const s = state_of_caller();
  return s != nullptr && s->has_fast_paths ? s : nullptr;
}

// While it lives the calling thread may use the PE's state: it is the PE's own, or one that the PE has made
// after asking for a level that allows it.
class entrance {
 public:
  entrance();
  ~entrance();
  entrance(const entrance&) = delete;
  entrance& operator=(const entrance&) = delete;
  // Throws when the caller is no PE, or OpenSHMEM is not open.
  [[nodiscard]] pe_state& open_state() const;
  // Before shmem_init() and after shmem_finalize() too.
  [[nodiscard]] pe_state& any_state() const;

 private:
  pe_state* me_ = nullptr;
  bool entered_ = false;
  std::optional<attached_thread> attached_thread_;
};

// The frame of every call but the fast paths: body gets the PE's state.
template <class Body>
auto in_call(const char* name, const Body& body) -> decltype(body(std::declval<pe_state&>())) {
  const entrance in;
  const detail::accounted_call counted(name, __builtin_return_address(0));
  try {
    return body(in.open_state());
  } catch (const std::exception&) {
    end_in_error(name);
  } catch (const job_stopped&) {
    pass_on_stop();
  }
}
// What a fast path does that may throw: the caller has found usable_state(), and that its worker is not shared.
template <class Body>
auto on_fast_path(const char* name, const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::exception&) {
    end_in_error(name);
  } catch (const job_stopped&) {
    pass_on_stop();
  }
}
template <class Body>
auto in_call_at_any_time(const char* name, const Body& body)
    -> decltype(body(std::declval<pe_state&>())) {
  const entrance in;
  const detail::accounted_call counted(name, __builtin_return_address(0));
  try {
    return body(in.any_state());
  } catch (const std::exception&) {
    end_in_error(name);
  } catch (const job_stopped&) {
    pass_on_stop();
  }
}

// --- Checks of arguments: each throws -------------------------------------------------------------
[[nodiscard]] team& checked_team(pe_state& me, shmem_team_t handle);
// Null: the default context.
[[nodiscard]] context* checked_context(pe_state& me, shmem_ctx_t handle);
// The PE's number in the world.
[[nodiscard]] int checked_pe(pe_state& me, const context* c, int pe);
// Checks that all of this range is symmetric.
void check_symmetric(const pe_state& me, const char* argument, const void* address,
                     std::size_t bytes);
// Does the same, and returns the location at that PE of the world. Without bytes it means nothing.
[[nodiscard]] rma::location checked_location(const pe_state& me, const char* argument,
                                             const void* address, std::size_t bytes, int pe);
[[nodiscard]] rma::context& operations_of(pe_state& me, context* c) noexcept;
// Checks that there is somewhere to write a result to.
void check_place(const char* argument, const void* place);
void check_not_in_handler(const pe_state& me);
// Tells the threads that a PE has made, and its own, from each other.
[[nodiscard]] const void* this_thread() noexcept;
// Every call that meets other PEs begins so: refuses in handlers, and sends what sessions have gathered.
void begin_meeting(pe_state& me);
// Send what sessions have gathered: one context, whose PEs are those of the world; all.
void send_gathered(pe_state& me, const char* call, session* of, rma::context& operations);
void send_all_gathered(pe_state& me, const char* call);
// Null: that of the default context. Nothing happens where there is none.
void end_session(pe_state& me, const char* call, context* c);
[[nodiscard]] std::size_t checked_bytes(std::size_t count, std::size_t element);
// The calling PE is about to write words of `pe`: notes them, of many the first and last, while calls are traced or checked.
void note_write(pe_state& me, int pe, const void* symmetric, std::size_t bytes);
// Returns when all PEs of the team have called.
void meet(pe_state& me, const team& t, const char* name);
// Lets others run now and then. A call that only looks at memory makes it: a program may repeat that call until the memory
// changes.
void note_look(pe_state& me);
[[nodiscard]] inline team& world_team(pe_state& me) {
  return *me.teams[0];
}

}  // namespace weft::shmem
