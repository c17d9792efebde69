#include "sync/atomics.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace weft {
namespace {

bool register_membarrier() noexcept {
#if defined(__SANITIZE_THREAD__)
  return false;  // ThreadSanitizer does not know membarrier.
#else
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
#endif
}

}  // namespace

std::atomic<bool> light_fence_is_full{!register_membarrier()};

void heavy_fence() noexcept {
  if (light_fence_is_full.load(std::memory_order_relaxed) ||
      syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0)
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

void std_atomics::wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                       std::int64_t timeout_ns) noexcept {
  timespec limit{};
  limit.tv_sec = timeout_ns / 1'000'000'000;
  limit.tv_nsec = timeout_ns % 1'000'000'000;
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected,
          timeout_ns < 0 ? nullptr : &limit, nullptr, 0);
}

void std_atomics::wake(std::atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, 1, nullptr,
          nullptr, 0);
}

}  // namespace weft
