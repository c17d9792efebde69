// An attached thread is a thread that a rank has made, while it is inside a call of weft: it runs code of the rank's
// worker on its own stack.
//
// A worker whose ranks make such threads is shared: it has a hand-off lock. Whoever runs code of the worker holds it:
// the worker's own thread, which gives it up while a fiber runs the program's code, or one attached thread. So one
// thread at a time uses a worker, and workers that are not shared pay nothing. Whose code a thread runs is kept in
// thread-local variables, since the program's code asks without the lock.
//
// An attached thread that waits makes progress for the worker, whose own thread may be blocked in the kernel, in a join
// of this very thread. Both offer the lock between two looks of a wait. An attached thread runs no fibers with the
// program's code, which stays on its thread. It runs urgent fibers, weft's own code, which may begin on one thread and
// end on another. When it leaves, it wakes the worker's own thread if that has something to do.
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

// See sync/handoff_lock.hpp; here with the way in which threads of a worker spin and rest.
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

// The rank that has made a thread. Null identity: no rank has, or the thread is a worker's.
struct thread_origin {
  worker* home = nullptr;
  void* identity = nullptr;
  int number = -1;
  std::span<std::byte> stack;  // The thread's.
  // Closed when the job ends; the other fields dangle then. The job counts the thread as living while this exists.
  std::shared_ptr<gate> way_in;
};
// The calling thread's. Async-signal-safe: handlers of faults call it. The reference is valid while the thread runs.
[[nodiscard]] const thread_origin& origin_of_this_thread() noexcept;
// Called once, by the new thread when it begins.
void set_origin_of_this_thread(thread_origin origin);
// The origin for a thread that the calling thread is about to make.
[[nodiscard]] thread_origin origin_of_new_thread();

// Lives on the stack of a thread that is no worker's and has entered the gate `from.way_in`. While it lives the thread
// holds the hand-off lock, worker::current() is the home of `from`, and code runs as its identity. Its destructor
// leaves the gate.
class attached_thread {
 public:
  explicit attached_thread(const thread_origin& from);
  ~attached_thread();
  attached_thread(const attached_thread&) = delete;
  attached_thread& operator=(const attached_thread&) = delete;

  // Between two looks of its wait: lets other threads have the lock, and rests, longer in later rounds.
  void yield_lock(unsigned round);
  // Runs ready urgent fibers, each until it waits again. False: there was none.
  bool run_urgent();
  // Whether the caller is such an urgent fiber. When it waits it switches to stand_in(), the thread's own flow of
  // control.
  [[nodiscard]] bool runs_urgent() const noexcept { return stand_in_ != nullptr; }
  [[nodiscard]] fiber& stand_in() const noexcept { return *stand_in_; }
  // The rank that has made the thread; what the thread waits for, null while it does not wait.
  [[nodiscard]] const thread_origin& from() const noexcept { return from_; }
  [[nodiscard]] const wait_description* waiting_in() const noexcept { return waiting_in_; }

 private:
  friend class worker;

  void install() noexcept;
  void remove() noexcept;
  void go_on_with(fiber& urgent);

  const thread_origin& from_;
  worker& of_;
  // This thread's state while it does not hold the lock. While it does, that is in the worker, and here is the state of
  // the worker's own thread.
  thread_state put_aside_;
  fiber* stand_in_ = nullptr;
  const wait_description* waiting_in_ = nullptr;
};

}  // namespace weft
