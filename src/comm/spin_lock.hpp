// The lock of a device that several threads share. It is unfair on purpose: the thread whose core has the device's
// cache lines may take the lock again and again; other threads wait until that one has nothing more to do, or for a
// bounded time. So a busy device serves long runs of one thread and does not move between cores at each operation.
// The holder may enter again (a handler that posts).
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

// For a loop that waits for another thread or process: pauses that grow, then it gives the core up, since the other one
// may have none.
class back_off {
 public:
  void wait() noexcept;

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
    if (was_of_other(me)) last_.store(me, std::memory_order_relaxed);  // Relaxed: a hint.
    return true;
  }
  // Relaxed: hints.
  [[nodiscard]] bool looks_free() const noexcept {
    return holder_.load(std::memory_order_relaxed) == nullptr;
  }
  [[nodiscard]] bool was_of_other(const void* me) const noexcept {
    return last_.load(std::memory_order_relaxed) != me;
  }
  // Counts holds in which something was done: it changes while a thread is at work. Polls that find nothing do not
  // count, or a thread that polls an idle device would seem to need the lock.
  [[nodiscard]] std::uint32_t work() const noexcept {
    return work_.load(std::memory_order_relaxed);
  }
  void leave(bool has_worked = true) noexcept {
    if (--depth_ != 0) return;
    // Relaxed: only the holder writes it.
    if (has_worked)
      work_.store(work_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    holder_.store(nullptr, Atomics::release("R1"));
  }

 private:
  alignas(padding_bytes) typename Atomics::template atomic<const void*> holder_{nullptr};
  typename Atomics::template atomic<const void*> last_{nullptr};
  typename Atomics::template atomic<std::uint32_t> work_{0};
  unsigned depth_ = 0;  // How often the holder has entered.
};
using spin_lock = basic_spin_lock<>;

// Holds a lock for a short time.
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

// One attempt to take a lock that another thread held last: pauses, and takes the lock if that thread has done nothing
// meanwhile, or if lock_looks_max attempts were in vain. A thread-local variable counts the attempts, so that each
// may be a call of its own, with other work in between.
[[nodiscard]] bool try_enter_in_turn(spin_lock& lock) noexcept;

// Holds the lock of a device; null: the device is not shared and needs none.
class device_guard {
 public:
  explicit device_guard(spin_lock* lock) noexcept : lock_(lock) {
    if (lock_ != nullptr && !enter_again(*lock_)) [[unlikely]]
      while (!try_enter_in_turn(*lock_)) {
      }
  }
  device_guard(const device_guard&) = delete;
  device_guard& operator=(const device_guard&) = delete;
  ~device_guard() {
    if (lock_ != nullptr) lock_->leave();
  }

  // Takes the lock if this thread was the last to hold it. False: another thread held it last, or holds it.
  [[nodiscard]] static bool enter_again(spin_lock& lock) noexcept {
    const void* const me = this_thread_mark();
    return !lock.was_of_other(me) && lock.try_enter(me);
  }

 private:
  spin_lock* lock_;
};

}  // namespace weft::comm
