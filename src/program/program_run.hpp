// A rank that is inside its own main().
#pragma once
#include <unwind.h>

#include <csetjmp>
#include <string>

#include "base/forked_child.hpp"
#include "program/program.h"
#include "rank/state.hpp"
#include "sched/attached_thread.hpp"

namespace weft::detail {

// Lives on the rank's stack.
struct program_run {
  std::jmp_buf end;  // Where exit() goes.
  const weft_own_state* own = nullptr;
  int exit_status = 0;
  bool at_once = false;    // By _exit(): no handlers, no destructors.
  bool is_ending = false;  // In these.
  std::jmp_buf stopped;    // Where the job's end takes it out of them.
  _Unwind_Exception unwinding = {};
};

// The calling rank; null on threads that are none.
[[nodiscard]] inline rank_state* state_of_caller() noexcept {
  const worker* const here = worker::current();
  return here == nullptr ? nullptr : static_cast<rank_state*>(here->identity());
}

// The rank that has made the calling thread, null when none has; while this lives, its job does not end.
class maker_of_thread {
 public:
  maker_of_thread() noexcept
      : from_(origin_of_this_thread()),
        is_inside_(from_.identity != nullptr && from_.way_in->enter()) {}
  ~maker_of_thread() {
    if (is_inside_) from_.way_in->leave();
  }
  maker_of_thread(const maker_of_thread&) = delete;
  maker_of_thread& operator=(const maker_of_thread&) = delete;

  [[nodiscard]] const rank_state* get() const noexcept {
    return is_inside_ ? static_cast<const rank_state*>(from_.identity) : nullptr;
  }

 private:
  const thread_origin& from_;
  bool is_inside_;
};

// The calling rank, also on threads that it has made; null on others. While this lives, its job does not end.
class rank_of_caller {
 public:
  [[nodiscard]] const rank_state* get() const noexcept {
    return maker_.get() != nullptr ? maker_.get() : state_of_caller();
  }

 private:
  maker_of_thread maker_;
};

// Of the calling rank, also on threads that it has made; -1 on others.
[[nodiscard]] int number_of_caller() noexcept;

// Called while job_stopped is handled, at the border to the program. Where the calling rank runs handlers of atexit() or
// destructors, which no exception may leave, it unwinds the frames of weft alone and ends the rank there; otherwise it
// returns.
void leave_handlers_of_exit();

// Whether the process must not end on account of this rank, since others run in it.
[[nodiscard]] bool has_others_beside(const rank_state& me);
// Ends the process with all its ranks for a call of one, and says so.
[[noreturn]] void end_process(const rank_state& me, const std::string& call, int status);

// As number_of_caller(), for what is written: a forked child's lines are not those of the rank.
[[nodiscard]] inline int number_of_writer() noexcept {
  return is_forked_child() ? -1 : number_of_caller();
}

// Whether the calling rank has a copy of its program, beside others in its process.
[[nodiscard]] inline bool has_copy() {
  return weft_own() != nullptr;
}

}  // namespace weft::detail
