// What stage points do in the program that measures them; included by stages.hpp there.
#pragma once
#include <cstdint>

#include "profile/stages.hpp"

namespace weft::stages {

[[nodiscard]] inline std::uint64_t stamp() noexcept {
#if defined(__x86_64__)
  unsigned core;
  return __builtin_ia32_rdtscp(&core);  // After what stands before it.
#elif defined(__aarch64__)
  std::uint64_t count;
  asm volatile("isb; mrs %0, cntvct_el0" : "=r"(count));
  return count;
#else
#error "stages are measured on x86-64 and AArch64"
#endif
}

// What stands behind it begins only when what stands before it is there.
inline void wait_here() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_lfence();
#else
  asm volatile("isb");
#endif
}

// The same as stamp(), and what stands behind it begins only then.
[[nodiscard]] inline std::uint64_t begin_stamp() noexcept {
  const std::uint64_t now = stamp();
  wait_here();
  return now;
}

#ifdef WEFT_STAGES

struct probe {
  point from = point::none;
  point to = point::none;
  point awaited = point::none;  // `to`, once `from` was passed.
  std::uint64_t begun = 0;      // When that was.
  // `from` is looked at once in so many times: a message that waits for no probe finds the caches and store
  // buffers as messages leave them, so what a stage waits for is seen in that stage.
  std::uint32_t period = 1;
  std::uint32_t left = 0;
  // Times between the two go there, while there is room.
  std::uint32_t* ticks = nullptr;
  std::uint32_t count = 0;
  std::uint32_t room = 0;

  void forget() noexcept { awaited = point::none; }
};
inline constinit thread_local probe armed;

// Between the two stamps of a pair stands as little as can be, one look at `awaited`: it is a part of what an empty pair
// takes, and hardly of one with a stage in it, which hides it.
[[gnu::always_inline]] inline void pass(point at) noexcept {
  probe& here = armed;
  if (at == here.awaited) {
    const std::uint64_t ended = stamp();
    if (here.count < here.room)
      here.ticks[here.count++] = static_cast<std::uint32_t>(ended - here.begun);
    here.awaited = point::none;
  } else if (at == here.from) {
    if (here.left-- != 0) return;
    here.left = here.period - 1;
    here.begun = stamp();
    here.awaited = here.to;
    wait_here();
  }
}

#endif

}  // namespace weft::stages
