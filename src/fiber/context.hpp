// A suspended flow of control, and the switch between two of them. The one place that knows the
// sanitizers' fiber interfaces.
//
// A context goes on where it left off, on the thread that switches to it. Compiled code may keep addresses of
// thread-local variables across a switch, so only fibers of code that is known not to may change their thread. errno
// and the exception state of the C++ run time are the fiber's own: the switch keeps them on the stack of the fiber
// that leaves.
#pragma once
#include <cstddef>
#include <span>

#include "fiber/returning.hpp"
#include "fiber/switch.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace weft {

// What __cxa_get_globals() points to: the exceptions being handled by this flow of control.
struct exception_state {
  void* caught;
  unsigned int uncaught_count;
};

// Where a thread keeps what belongs to the flow of control that runs on it. Found once per thread: the addresses never
// change, and each costs a call to find.
struct thread_state {
  exception_state* exceptions;
  int* error_number;
};
[[nodiscard]] thread_state this_thread_state() noexcept;

class context {
 public:
  // The flow of control of the calling thread; it becomes switchable by its first switch away.
  context() noexcept;
  // A new flow of control: it runs `entry(argument)` on `stack` when it is first switched to. `entry` never returns and
  // lets no exception out.
  context(std::span<std::byte> stack, void (*entry)(void*), void* argument) noexcept;
  context(const context&) = delete;
  context& operator=(const context&) = delete;
  ~context();

  // Suspends the running `from` and runs `to`; returns when somebody switches to `from`.
  // `thread` is this thread's state. Keep the caller shallow: each frame between here and the
  // fiber's own code costs a mispredicted return.
  [[gnu::always_inline]] static void switch_to(context& from, context& to,
                                               const thread_state& thread) noexcept {
    // While a flow runs that has no exception at hand, which is nearly always, there is nothing to
    // keep: who has one takes it away with it.
    if (thread.exceptions->caught != nullptr || thread.exceptions->uncaught_count != 0) [[unlikely]]
      return switch_with_exceptions(from, to, thread);
    const int saved_errno = *thread.error_number;
    enter(from, to);
    *thread.error_number = saved_errno;
  }

  // Calls `visit(argument)` on the stack of the suspended `to`, as if `to` had called it where it left off, and
  // returns; `to` stays suspended. `visit` does not switch.
  static void visit(context& from, context& to, void (*visit)(void*), void* argument) noexcept;
  // The number of bytes of `stack`, its own, that this suspended context does not use.
  [[nodiscard]] std::size_t unused(std::span<const std::byte> stack) const noexcept {
    return static_cast<std::size_t>(static_cast<const std::byte*>(suspended_) - stack.data());
  }

  // switch_to() for a `from` that never runs again.
  [[noreturn]] static void leave_to(context& from, context& to) noexcept;

 private:
  struct visit_order {
    context* from;
    context* to;
    void (*visit)(void*);
    void* argument;
  };

  [[gnu::noinline]] static void switch_with_exceptions(context& from, context& to,
                                                       const thread_state& thread) noexcept;
  static void* receive_visit(void* order) noexcept;
  [[gnu::always_inline]] static void enter(context& from, context& to) noexcept {
    from.start_switch(to);
    machine::jump(to.suspended_, &to, &from.suspended_);
    note_switch();
    from.finish_switch();
  }
  static void first_entry(void* self) noexcept;

  // Tell the sanitizers of the switch: before it, on the stack that is left, and after it, on the stack that is
  // reached.
  [[gnu::always_inline]] void start_switch([[maybe_unused]] context& to) noexcept {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&fake_stack_, to.stack_.data(), to.stack_.size());
#endif
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(to.tsan_fiber_, 0);
#endif
  }
  [[gnu::always_inline]] void finish_switch() noexcept {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake_stack_, nullptr, nullptr);
#endif
  }

  void* suspended_ = nullptr;
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
#if defined(__SANITIZE_ADDRESS__)
  std::span<std::byte> stack_;
  void* fake_stack_ = nullptr;
#endif
#if defined(__SANITIZE_THREAD__)
  void* tsan_fiber_ = nullptr;
  bool owns_tsan_fiber_ = false;
#endif
};

}  // namespace weft
