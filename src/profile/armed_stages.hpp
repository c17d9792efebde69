// What stage points do in the program that measures them; included by stages.hpp there.
#pragma once
#include <cstdint>

#include "profile/stages.hpp"

#ifdef WEFT_STAGES
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

// The same, and what stands behind it begins only then.
[[nodiscard]] inline std::uint64_t begin_stamp() noexcept {
  const std::uint64_t now = stamp();
#if defined(__x86_64__)
  __builtin_ia32_lfence();
#else
  asm volatile("isb");
#endif
  return now;
}

struct probe {
  point from = point::none;
  point to = point::none;
  std::uint64_t begun = 0;  // 0: `from` was not passed since.
  std::uint64_t ended = 0;  // When `to` was passed last.
  // `from` is looked at once in so many times: a message that waits for no probe finds the caches and store
  // buffers as messages leave them, so what a stage waits for is seen in that stage.
  std::uint32_t period = 1;
  std::uint32_t left = 0;
  // Times between the two go there, while there is room.
  std::uint32_t* ticks = nullptr;
  std::uint32_t count = 0;
  std::uint32_t room = 0;
};
inline constinit thread_local probe armed;

[[gnu::always_inline]] inline void pass(point at) noexcept {
  probe& here = armed;
  if (at == here.to && here.begun != 0) {
    here.ended = stamp();
    if (here.count < here.room)
      here.ticks[here.count++] = static_cast<std::uint32_t>(here.ended - here.begun);
    here.begun = 0;
  } else if (at == here.from) {
    if (here.left-- != 0) return;
    here.left = here.period - 1;
    here.begun = begin_stamp();
  }
}

}  // namespace weft::stages
#endif
