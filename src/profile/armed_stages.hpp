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
  point watched = point::none;  // `from`, and then `to`.
  point from = point::none;
  point to = point::none;
  std::uint64_t begun = 0;  // When `from` was passed.
  // `from` is looked at once in so many times: a message that waits for no probe finds the caches and store
  // buffers as messages leave them, so what a stage waits for is seen in that stage.
  std::uint32_t period = 1;
  std::uint32_t left = 0;
  // Times between the two go there, while there is room.
  std::uint32_t* ticks = nullptr;
  std::uint32_t count = 0;
  std::uint32_t room = 0;

  void forget() noexcept { watched = from; }
};
inline constinit thread_local probe armed;

// A point that is not watched costs one look, since several stand in a stage that is measured as a whole. Between the two
// stamps of a pair stands little more: it is a part of what an empty pair takes, and hardly of one with a stage in it, which
// hides it.
[[gnu::always_inline]] inline void pass(point at) noexcept {
  probe& here = armed;
  if (at != here.watched) return;
  if (at == here.to) {
    const std::uint64_t ended = stamp();
    if (here.count < here.room)
      here.ticks[here.count++] = static_cast<std::uint32_t>(ended - here.begun);
    here.watched = here.from;
  } else {
    if (here.left-- != 0) return;
    here.left = here.period - 1;
    here.begun = stamp();
    here.watched = here.to;
    wait_here();
  }
}

#endif

}  // namespace weft::stages
