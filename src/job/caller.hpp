// Which rank calls, also from threads that it has made; and the end of the process on account of one.
#pragma once
#include <string>

#include "base/forked_child.hpp"
#include "job/state.hpp"
#include "sched/attached_thread.hpp"

namespace weft::detail {

// The calling rank; null on threads that are none.
[[nodiscard]] inline job_rank* state_of_caller() noexcept {
  const worker* const here = worker::current();
  return here == nullptr ? nullptr : static_cast<job_rank*>(here->identity());
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

  [[nodiscard]] const job_rank* get() const noexcept {
    return is_inside_ ? static_cast<const job_rank*>(from_.identity) : nullptr;
  }

 private:
  const thread_origin& from_;
  bool is_inside_;
};

// The calling rank, also on threads that it has made; null on others. While this lives, its job does not end.
class rank_of_caller {
 public:
  [[nodiscard]] const job_rank* get() const noexcept {
    return maker_.get() != nullptr ? maker_.get() : state_of_caller();
  }

 private:
  maker_of_thread maker_;
};

// Of the calling rank, also on threads that it has made; -1 on others.
[[nodiscard]] int number_of_caller() noexcept;

// Whether the process must not end on account of this rank, since others run in it.
[[nodiscard]] bool has_others_beside(const job_rank& me);
// Ends the process with all its ranks for a call of one, and says so.
[[noreturn]] void end_process(const job_rank& me, const std::string& call, int status);

// Whether the process has a job, or had one.
[[nodiscard]] bool has_had_job() noexcept;

// From now on exit() of a rank says so, where others run: once in a process.
void watch_exit_of_process();

// As number_of_caller(), for what is written: a forked child's lines are not those of the rank.
[[nodiscard]] inline int number_of_writer() noexcept {
  return is_forked_child() ? -1 : number_of_caller();
}

}  // namespace weft::detail
