// Threads that a rank has made, and that call what the rank may call: each runs code of the rank's
// worker on its own stack, as an attached thread.
//
// A worker that has attached threads is shared: it has a hand-off lock, which whoever runs code of the worker holds - its
// own thread, except while a fiber runs the program's code, or one attached thread. So everything of a worker is
// still used by one thread at a time, and workers without attached threads pay nothing. What the program's code
// asks a worker outside (whose code runs here?) is kept by thread.
//
// An attached thread that waits makes progress for the worker, whose own thread may be blocked in the kernel,
// waiting for this very attached thread; it offers the hand-off lock between two looks, and so does the worker's thread
// in its waits. An attached thread goes on with fibers of weft's own code, urgent fibers, which may be begun on one thread
// and ended on another; the program's code stays on its thread. An attached thread that leaves something to do wakes
// the worker's thread.
#pragma once
#include <cstddef>
#include <memory>
#include <span>

#include "fiber/context.hpp"
#include "sync/gate.hpp"
#include "sync/handoff_lock.hpp"

namespace weft {

class worker;
struct fiber;
struct wait_description;

class handoff_lock {
 public:
  void take() noexcept;
  void give() noexcept { who_.give(); }
  [[nodiscard]] bool held_here() const noexcept { return who_.held_by(this_thread()); }
  [[nodiscard]] bool is_wanted() const noexcept { return who_.is_wanted(); }
  void offer() noexcept;

 private:
  static const void* this_thread() noexcept {
    static thread_local char mark;
    return &mark;
  }
  basic_handoff_lock<> who_;
};

// Which rank has made the calling thread; null identity: none has, or it is a worker's.
struct thread_origin {
  worker* home = nullptr;
  void* identity = nullptr;
  int number = -1;
  std::span<std::byte> stack;  // Of the thread.
  // Closed when the job ends: the rest is gone then. As long as somebody has it, the thread lives.
  std::shared_ptr<gate> way_in;
};
// Async-signal-safe: handlers of faults ask. The reference holds while the thread runs.
[[nodiscard]] const thread_origin& origin_of_this_thread() noexcept;
// Called once, when the thread begins.
void set_origin_of_this_thread(thread_origin origin);
// That of a thread which the calling thread makes.
[[nodiscard]] thread_origin origin_of_new_thread();

// On the stack of a thread that is no worker's, and that has entered the gate: while it lives,
// worker::current() is the home of `from`, and code runs as its identity. Leaves the gate.
class attached_thread {
 public:
  explicit attached_thread(const thread_origin& from);
  ~attached_thread();
  attached_thread(const attached_thread&) = delete;
  attached_thread& operator=(const attached_thread&) = delete;

  // Between two looks at what it waits for.
  void step_aside(unsigned round);
  // Goes on with urgent fibers that are ready, each until it waits again. False: there was none.
  bool run_urgent();
  // Whether the caller is such an urgent fiber; it leaves to the attached thread's own flow of control.
  [[nodiscard]] bool runs_urgent() const noexcept { return stand_in_ != nullptr; }
  [[nodiscard]] fiber& stand_in() const noexcept { return *stand_in_; }
  // The rank that has made the thread, and what the thread waits for; null while it does not wait.
  [[nodiscard]] const thread_origin& from() const noexcept { return from_; }
  [[nodiscard]] const wait_description* waiting_in() const noexcept { return waiting_in_; }

 private:
  friend class worker;

  void install() noexcept;
  void remove() noexcept;
  void go_on_with(fiber& urgent);

  const thread_origin& from_;
  worker& of_;
  // While the attached thread is not at work: this thread's. Else that of the worker's own.
  thread_state put_aside_;
  fiber* stand_in_ = nullptr;
  const wait_description* waiting_in_ = nullptr;
};

}  // namespace weft
