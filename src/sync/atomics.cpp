#include "sync/atomics.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

#include <algorithm>
#include <cerrno>

#include "base/assert.hpp"
#include "base/kernel.hpp"

namespace weft {
namespace asymmetric {
namespace {

bool membarrier(int command) noexcept {
  return syscall(SYS_membarrier, command, 0, 0) == 0;
}

}  // namespace

// Zero, that is full fences, for whoever runs before this file's static objects are made.
bool kernel_fences = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);

void full_fence() noexcept {
#ifdef __SANITIZE_THREAD__
  // ThreadSanitizer refuses fences; a read-modify-write in the one order of seq_cst does as well.
  static std::atomic<int> order{0};
  order.fetch_add(1, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

// ThreadSanitizer need not know the system call: the halves order a store before a load and are
// never what makes plain fields visible; that is done by the acquire and release beside them.
void heavy_fence() noexcept {
  if (!kernel_fences) return full_fence();
  // A light fence elsewhere relies on it: going on without would lose a wake-up one day.
  WEFT_ASSERT(membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
}

bool shared_kernel_fences = membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) &&
                            membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);

void shared_heavy_fence() noexcept {
  if (!shared_kernel_fences) return full_fence();
  WEFT_ASSERT(membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED));
}

}  // namespace asymmetric

namespace {

void futex_wait(std::atomic<std::uint32_t>& word, int operation, std::uint32_t expected,
                std::int64_t timeout_ns) noexcept {
  const timespec limit{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  syscall(SYS_futex, &word, operation, expected, timeout_ns < 0 ? nullptr : &limit, nullptr, 0);
}

}  // namespace

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));  // The kernel's futex.

void std_atomics::wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                       std::int64_t timeout_ns) noexcept {
  futex_wait(word, FUTEX_WAIT_PRIVATE, expected, timeout_ns);
}
void std_atomics::wake(std::atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void std_atomics::wait_for_either(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                                  const std::atomic<std::uint32_t>& bell, std::uint32_t value,
                                  bool shared, std::int64_t timeout_ns) noexcept {
#ifdef SYS_futex_waitv
  static std::atomic<bool> known{true};  // Relaxed: it only changes to false.
  if (known.load(std::memory_order_relaxed)) {
    const std::uint32_t size = FUTEX_32;
    const futex_waitv both[] = {
        {expected, reinterpret_cast<std::uint64_t>(&word), size | FUTEX_PRIVATE_FLAG, 0},
        {value, reinterpret_cast<std::uint64_t>(&bell), shared ? size : size | FUTEX_PRIVATE_FLAG,
         0}};
    timespec limit{};
    if (timeout_ns >= 0) {  // This call takes a time of day.
      clock_gettime(CLOCK_MONOTONIC, &limit);
      limit.tv_sec += timeout_ns / 1'000'000'000;
      limit.tv_nsec += timeout_ns % 1'000'000'000;
      if (limit.tv_nsec >= 1'000'000'000) ++limit.tv_sec, limit.tv_nsec -= 1'000'000'000;
    }
    if (syscall(SYS_futex_waitv, both, 2, 0, timeout_ns < 0 ? nullptr : &limit, CLOCK_MONOTONIC) >=
            0 ||
        (errno != ENOSYS && errno != EPERM))  // EPERM: of containers that do not know the call.
      return;
    known.store(false, std::memory_order_relaxed);
  }
#endif
  constexpr std::int64_t moment_ns = 1'000'000;
  wait(word, expected, timeout_ns < 0 ? moment_ns : std::min(timeout_ns, moment_ns));
}

void shared_atomics::wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                          std::int64_t timeout_ns) noexcept {
  futex_wait(word, FUTEX_WAIT, expected, timeout_ns);
}
// All waiters, not one: whoever may only write the word must not take another's wake-up.
void shared_atomics::wake(std::atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void std_atomics::pause() noexcept {
  give_core_up();  // The other one is in the middle of something short, or has no core.
}

}  // namespace weft
