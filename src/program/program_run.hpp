// A rank that is inside its own main().
#pragma once
#include <unwind.h>

#include <csetjmp>

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

// Whether the process's only rank takes signals as any process does.
[[nodiscard]] bool has_kernels_signals() noexcept;

// What a rank calls that ends: it leaves a wait, or returns when the rank is in none.
void set_leave_wait(void (*leave)()) noexcept;

// Whether the calling rank has a copy of its program, beside others in its process.
[[nodiscard]] inline bool has_copy() {
  return weft_own() != nullptr;
}

}  // namespace weft::detail
