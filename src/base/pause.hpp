// A moment of a loop that looks at what another thread will write.
#pragma once

namespace weft {

inline void pause_processor() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// So many multiplications in a row.
template <int steps>
[[gnu::always_inline]] inline void multiply_in_turn(unsigned long chain) noexcept {
  chain *= 7;
  asm volatile("" : "+r"(chain));
  if constexpr (steps > 1) multiply_in_turn<steps - 1>(chain);
}

// A rest between two looks at a line that another core will write into soon, about as long as the line takes
// to come from the next core: each look takes it away from whoever is about to write. pause, which takes
// 5 to 140 cycles by processor, lets no look begin early; behind these multiplications, each of which waits
// for the one before, the processor has begun the next loads and sees at once when the line goes. 8 bytes
// one way between two workers take 61 ns. With the multiplications in a loop, whose end is
// predicted wrongly so that what the processor has begun is in vain, they take 75; without a rest, more.
// 16 to 32 of them are alike (docs/facts.md).
[[gnu::always_inline]] inline void rest_between_looks() noexcept {
  multiply_in_turn<32>(1);
}

}  // namespace weft
