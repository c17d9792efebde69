// A rank that is inside its own main().
#pragma once
#include <pthread.h>
#include <unwind.h>

#include <csetjmp>

#include "job/caller.hpp"
#include "process/life/caller.h"

namespace weft::process {

// Lives on the rank's stack.
struct program_run {
  std::jmp_buf end;  // exit() goes there.
  const weft_own_state* own = nullptr;
  int exit_status = 0;
  bool at_once = false;    // _exit() ends it: no handlers and destructors run.
  bool is_ending = false;  // Handlers and destructors run.
  bool is_leaving =
      false;  // It has ended in a handler of a signal, and leaves the wait in which that ran.
  std::jmp_buf stopped;            // The job's end leads it there, out of handlers and destructors.
  void (*after_main)() = nullptr;  // pthread_exit() sets it: waits for the rank's threads.
  // Handlers of pthread_cleanup_push(), the newest first (thread_end.cpp).
  __pthread_unwind_buf_t* cleanups = nullptr;
  bool is_in_program = false;  // Frames of weft's before it are left behind.
  _Unwind_Exception unwinding = {};
};

// A rank is known as one that is inside its main() while this lives.
class registered_run {
 public:
  explicit registered_run(program_run& run);
  ~registered_run();
  registered_run(const registered_run&) = delete;
  registered_run& operator=(const registered_run&) = delete;

 private:
  const void* rank_;
};

// The calling rank's, not that of threads that it has made; null where it has no main() of its own.
[[nodiscard]] program_run* run_of_caller();

// A face calls it while it handles job_stopped, at the border to the program. Where the calling rank runs handlers of atexit() or
// destructors, which no exception may leave, it unwinds the frames of weft alone and ends the rank there; otherwise it
// returns.
void leave_handlers_of_exit();

// Leaves the program of the calling rank, whose job has stopped, without unwinding its frames, and ends the rank; returns
// when it is no such rank.
void leave_stopped_rank();

// Whether the calling rank has a copy of its program, beside others in its process.
[[nodiscard]] inline bool has_copy() {
  return weft_own() != nullptr;
}

}  // namespace weft::process
