// The lock of a device that several threads share. Unfair: whoever has the line takes it again, and
// the others back off, so that a device under contention serves long runs of one thread instead of
// moving between cores at every operation. The owner may enter again (a handler that posts).
//
//   R1 leave:     store holder_              -- A1 try_enter: compare-exchange holder_
//                                               the next owner sees what this one did
#pragma once
#include <cstdint>
#include <utility>

#include "base/limits.hpp"
#include "sync/atomics.hpp"

namespace weft::comm {

inline const void* this_thread_mark() noexcept {
  static thread_local char mark;
  return &mark;
}

inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Of a loop that waits for another thread or process: ever longer pauses, then the processor is
// given up, for the other one may have none.
class back_off {
 public:
  void wait() noexcept;
  // Of one who waits for a lock.
  [[nodiscard]] static back_off from_lock() noexcept {
    back_off patience;
    patience.rounds_ = lock_spin_rounds_min;
    return patience;
  }

 private:
  unsigned rounds_ = 0;
};

template <class Atomics = std_atomics>
class basic_spin_lock {
 public:
  // True when the caller's thread has it now; nested entries count. `me` marks the thread.
  [[nodiscard]] bool try_enter(const void* me) noexcept {
    // Relaxed: only this thread writes its own mark, and it sees its own stores. And an exchange
    // that must fail would take the line from the holder.
    if (const void* holder = holder_.load(std::memory_order_relaxed); holder != nullptr) {
      if (holder != me) return false;
      ++depth_;
      return true;
    }
    const void* nobody = nullptr;
    if (!holder_.compare_exchange_strong(nobody, me, Atomics::acquire("A1"),
                                         std::memory_order_relaxed))
      return false;
    depth_ = 1;
    return true;
  }
  // Relaxed: a hint.
  [[nodiscard]] bool looks_free() const noexcept {
    return holder_.load(std::memory_order_relaxed) == nullptr;
  }
  void leave() noexcept {
    if (--depth_ == 0) holder_.store(nullptr, Atomics::release("R1"));
  }

 private:
  alignas(padding_bytes) typename Atomics::template atomic<const void*> holder_{nullptr};
  unsigned depth_ = 0;  // The holder's.
};
using spin_lock = basic_spin_lock<>;

// Holds a lock that may not be needed.
class lock_guard {
 public:
  // Waits. A null lock is always free.
  explicit lock_guard(spin_lock* lock) noexcept : lock_(lock) {
    if (lock_ != nullptr && !lock_->try_enter(this_thread_mark())) [[unlikely]]
      enter_slowly();
  }
  lock_guard(const lock_guard&) = delete;
  lock_guard& operator=(const lock_guard&) = delete;
  ~lock_guard() {
    if (lock_ != nullptr) lock_->leave();
  }

 private:
  void enter_slowly() noexcept;

  spin_lock* lock_;
};

}  // namespace weft::comm
