// All that a lock-free structure of weft uses between threads, as one policy type. A structure takes it as its template
// parameter `Atomics`: std_atomics in the product, model_atomics (tests/model/checker.hpp) where every schedule is
// tried.
//
//   atomic<T>             std::atomic<T>
//   plain<T>              a field that the structure's orderings keep free of data races
//   acquire("A1") ...     the ordering labelled A1 in the structure's table; a constant here, while
//                         the model checker can weaken one label and see whether a test notices
//   light_fence("L1"),    two halves of one StoreLoad fence: when thread X does store, light_fence,
//   heavy_fence("H1")     load and thread Y does store, heavy_fence, load, at least one
//                         of them sees the other's store. The light half costs nothing, the heavy one a system
//                         call; use it where Y is about to sleep anyway.
//   wait, wake            the kernel's futex on one word
//   pause                 in a loop that waits for another thread's next step
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/limits.hpp"

namespace weft {

namespace asymmetric {

// True when the kernel runs heavy fences on every core. Until that is known, and where the kernel refuses (a seccomp
// filter, an old kernel), both halves are full fences. Set while static objects are made; constant afterwards.
extern bool kernel_fences;

void full_fence() noexcept;
void heavy_fence() noexcept;

// The same between processes that share memory: true when heavy fences of other processes reach this one and this one
// may issue them. A pair of processes needs it true in both; otherwise the light half is a full fence as well.
extern bool shared_kernel_fences;
void shared_heavy_fence() noexcept;

}  // namespace asymmetric

struct std_atomics {
  template <class T>
  using atomic = std::atomic<T>;

  template <class T>
  class plain {
   public:
    plain() = default;
    explicit plain(T value) : value_(std::move(value)) {}
    const T& get() const noexcept { return value_; }
    void set(T value) noexcept { value_ = std::move(value); }

   private:
    T value_{};
  };

  static consteval std::memory_order acquire(const char*) { return std::memory_order_acquire; }
  static consteval std::memory_order release(const char*) { return std::memory_order_release; }
  // A read-modify-write that is both: the label of its load, then that of its store.
  static consteval std::memory_order acq_rel(const char*, const char*) {
    return std::memory_order_acq_rel;
  }
  // Weakened by the model checker to acquire, release or both, whatever the operation allows.
  static consteval std::memory_order seq_cst(const char*) { return std::memory_order_seq_cst; }

  static void light_fence(const char*) noexcept {
    if (asymmetric::kernel_fences) [[likely]]
      std::atomic_signal_fence(std::memory_order_seq_cst);
    else
      asymmetric::full_fence();
  }
  static void heavy_fence(const char*) noexcept { asymmetric::heavy_fence(); }

  // Futex: sleeps while `word` is `expected`, at most `timeout_ns` (negative: no limit); may return
  // for no reason.
  static void wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                   std::int64_t timeout_ns) noexcept;
  static void wake(std::atomic<std::uint32_t>& word) noexcept;
  // Sleeps while `word` is `expected` and `bell` is `value`. `shared`: other processes write the bell. On a kernel that
  // cannot wait for two words it sleeps for a millisecond at most.
  static void wait_for_either(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                              const std::atomic<std::uint32_t>& bell, std::uint32_t value,
                              bool shared, std::int64_t timeout_ns) noexcept;
  static void pause() noexcept;
};

// For words in memory that processes share: their fences reach each other and so do their futexes.
struct shared_atomics : std_atomics {
  static void light_fence(const char*) noexcept {
    if (asymmetric::shared_kernel_fences) [[likely]]
      std::atomic_signal_fence(std::memory_order_seq_cst);
    else
      asymmetric::full_fence();
  }
  static void heavy_fence(const char*) noexcept { asymmetric::shared_heavy_fence(); }

  static void wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                   std::int64_t timeout_ns) noexcept;
  static void wake(std::atomic<std::uint32_t>& word) noexcept;
};

}  // namespace weft
