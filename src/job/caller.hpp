// Which rank calls, also from threads that it has made; and what happens when one rank ends the whole process.
#pragma once
#include <string>

#include "base/forked_child.hpp"
#include "job/state.hpp"
#include "sched/attached_thread.hpp"

namespace weft::detail {

// The calling rank, in a chunk of a loop the loop's owner; null on threads that are neither workers nor attached.
[[nodiscard]] inline job_rank* state_of_caller() noexcept {
  const worker* const here = worker::current();
  return here == nullptr ? nullptr : static_cast<job_rank*>(here->identity());
}

// The rank that has made the calling thread; null when none has, or its job has ended. While this lives, the job does
// not end.
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

  [[nodiscard]] const job_rank* get() const noexcept {
    return is_inside_ ? static_cast<const job_rank*>(from_.identity) : nullptr;
  }

 private:
  const thread_origin& from_;
  bool is_inside_;
};

// The calling rank, also on threads that it has made; null on other threads. While this lives, its job does not end.
class rank_of_caller {
 public:
  [[nodiscard]] const job_rank* get() const noexcept {
    return maker_.get() != nullptr ? maker_.get() : state_of_caller();
  }

 private:
  maker_of_thread maker_;
};

// The number of the calling rank, also on threads that it has made; -1 on other threads.
[[nodiscard]] int number_of_caller() noexcept;

// Whether other ranks of the process still run.
[[nodiscard]] bool has_others_beside(const job_rank& me);
// Ends the process because rank `me` has made `call`, such as "exit(0)". Says which rank did, and that it ended others.
[[noreturn]] void end_process(const job_rank& me, const std::string& call, int status);

// Whether the process has a job, or had one.
[[nodiscard]] bool has_had_job() noexcept;

// Installs the handlers that call end_process() when a rank calls exit() beside others. Later calls do nothing.
void watch_exit_of_process();

// number_of_caller() for lines of output: -1 in a forked child, whose lines are not the rank's.
[[nodiscard]] inline int number_of_writer() noexcept {
  return is_forked_child() ? -1 : number_of_caller();
}

}  // namespace weft::detail
