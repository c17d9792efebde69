// The one place where operations on files are carried out that may block: on a thread of their own, while other ranks of
// the worker run. A rank that keeps nobody waiting, and one whose file lies in memory, does them itself.
//
// Called by ranks, on their own fibers or on those of non-blocking calls.
#pragma once
#include <sched.h>

#include <functional>
#include <memory>
#include <string>

#include "mpi/object/state.hpp"

namespace weft::mpi {

class blocking_operation;

// What people read in reports while a rank waits for an operation.
struct blocking_purpose {
  const char* call;
  const std::string& file;
  bool in_memory = false;     // The file's bytes lie in memory: nothing blocks for long.
  const char* kind = "file";  // Of what `file` is the name.
  // It waits for others, who may wait for more of its kind: it has a thread for itself, outside the limit.
  bool alone = false;
};

// Runs `work`, which throws nothing, and returns when it has ended. The job's stop does not cut it short: it may use the
// rank's memory until then.
void run_blocking(state& me, const blocking_purpose& what, const std::function<void()>& work);

// Begins `work` now, on a thread of its own; null, and nothing done, where that is no use or there is no thread. It ends
// whatever becomes of the rank: what it uses is its own, or memory of the program that belongs to it until await_blocking().
[[nodiscard]] std::shared_ptr<blocking_operation> begin_blocking(state& me,
                                                                 const blocking_purpose& what,
                                                                 std::function<void()> work);
// Returns when it has ended.
void await_blocking(state& me, const blocking_purpose& what, blocking_operation& begun);

// While it lives, the calling thread has the CPUs of the process, in place of its worker's; so have processes that it starts.
class unpinned_thread {
 public:
  unpinned_thread() noexcept;
  unpinned_thread(const unpinned_thread&) = delete;
  unpinned_thread& operator=(const unpinned_thread&) = delete;
  ~unpinned_thread();

 private:
  cpu_set_t before_;
};

// The most threads that a process has for them. Operations beyond wait for one of these.
inline constexpr int file_threads_max = 32;

}  // namespace weft::mpi
