// A rank that is inside its own main().
#pragma once
#include <unwind.h>

#include <csetjmp>
#include <csignal>

#include "job/caller.hpp"
#include "program/program.h"

namespace weft::detail {

// Lives on the rank's stack.
struct program_run {
  std::jmp_buf end;  // Where exit() goes.
  const weft_own_state* own = nullptr;
  int exit_status = 0;
  bool at_once = false;    // By _exit(): no handlers, no destructors.
  bool is_ending = false;  // In these.
  bool is_leaving =
      false;  // It has ended in a handler of a signal, and leaves the wait in which that ran.
  std::jmp_buf stopped;  // Where the job's end takes it out of them.
  _Unwind_Exception unwinding = {};
};

// Called while job_stopped is handled, at the border to the program. Where the calling rank runs handlers of atexit() or
// destructors, which no exception may leave, it unwinds the frames of weft alone and ends the rank there; otherwise it
// returns.
void leave_handlers_of_exit();

// Leaves the program of the calling rank, whose job has stopped, without unwinding its frames, and ends the rank; returns
// when it is no such rank.
void leave_stopped_rank();

// A rank that is the only one of its process takes the process's signals itself, on its own thread, as a program does:
// handlers interrupt its calls and may leave them by a jump. Weft's other threads, which are made while this lives, take none.
class signals_for_rank {
 public:
  signals_for_rank() noexcept;
  ~signals_for_rank();
  signals_for_rank(const signals_for_rank&) = delete;
  signals_for_rank& operator=(const signals_for_rank&) = delete;

 private:
  sigset_t before_{};
};
// Called by that rank when it begins; nothing for others.
void take_signals_of_process() noexcept;

// Whether the process's only rank takes signals as any process does.
[[nodiscard]] bool has_kernels_signals() noexcept;

// What is known of signals of ranks, where there are any (rank_signals.cpp). All are of the calling rank, on its own thread.
struct signal_hooks {
  void (*leave_wait)();  // It ends: it leaves a wait, or returns when the rank is in none.
  // A handler runs that has interrupted it somewhere: nobody else may run.
  bool (*is_in_the_middle)() noexcept;
  bool (*has_own)() noexcept;
  bool (*has_to_run)() noexcept;  // A handler waits to run.
  void (*run)();
};
void set_signal_hooks(const signal_hooks& hooks) noexcept;      // Once.
[[nodiscard]] const signal_hooks* signals_of_ranks() noexcept;  // Null: there are none.
[[nodiscard]] inline bool is_in_middle_of_code() noexcept {
  const signal_hooks* const hooks = signals_of_ranks();
  return hooks != nullptr && hooks->is_in_the_middle();
}

// Whether the calling rank has a copy of its program, beside others in its process.
[[nodiscard]] inline bool has_copy() {
  return weft_own() != nullptr;
}

}  // namespace weft::detail
