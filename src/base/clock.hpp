// Two clocks. now_ns() is exact and costs about 20 ns; ticks() costs a few ns and is turned into
// time with ns_per_tick(). Both are monotonic and agree between the cores of a machine.
#pragma once
#include <cstdint>
#include <ctime>

namespace weft {

inline std::uint64_t now_ns() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t count;
  asm volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
#else
  return now_ns();
#endif
}

// Measured against now_ns() over a few milliseconds by the first caller; a constant from then on.
double ns_per_tick() noexcept;

}  // namespace weft
