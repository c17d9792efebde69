#include "sync/word_list.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "base/kernel.hpp"

namespace weft {
namespace {

#ifdef SYS_futex_waitv
constexpr std::size_t words_max = 128;  // The kernel's limit.

timespec time_after(std::int64_t duration_ns) noexcept {
  constexpr std::int64_t second_ns = 1'000'000'000;
  timespec at{};
  clock_gettime(CLOCK_MONOTONIC, &at);
  at.tv_sec += duration_ns / second_ns;
  at.tv_nsec += duration_ns % second_ns;
  if (at.tv_nsec >= second_ns) ++at.tv_sec, at.tv_nsec -= second_ns;
  return at;
}
#endif

}  // namespace

void word_list::sleep(std::int64_t timeout_ns) const noexcept {
#ifdef SYS_futex_waitv
  static std::atomic<bool> known{true};  // Relaxed: it only changes to false.
  if (words_.size() <= words_max && known.load(std::memory_order_relaxed)) {
    std::array<futex_waitv, words_max> all{};
    constexpr __u32 size = FUTEX_32;
    std::ranges::transform(words_, all.begin(), [](const expected_word& one) {
      return futex_waitv{one.expected, reinterpret_cast<std::uint64_t>(one.word),
                         one.is_shared ? size : size | FUTEX_PRIVATE_FLAG, 0};
    });
    const timespec limit = timeout_ns < 0 ? timespec{} : time_after(timeout_ns);
    if (syscall(SYS_futex_waitv, all.data(), words_.size(), 0, timeout_ns < 0 ? nullptr : &limit,
                CLOCK_MONOTONIC) >= 0 ||
        (errno != ENOSYS && errno != EPERM))  // EPERM: of containers that do not know the call.
      return;
    known.store(false, std::memory_order_relaxed);
  }
#endif
  for (const expected_word& one : words_)
    if (one.word->load(std::memory_order_relaxed) != one.expected) return;
  constexpr std::int64_t moment_ns = 1'000'000;
  sleep_in_kernel(
      std::chrono::nanoseconds(timeout_ns < 0 ? moment_ns : std::min(timeout_ns, moment_ns)));
}

}  // namespace weft
