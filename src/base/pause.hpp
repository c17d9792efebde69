// Rests in a loop that looks at what another thread will write.
#pragma once

namespace weft {

inline void pause_processor() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// `steps` multiplications, each of which waits for the one before.
template <int steps>
[[gnu::always_inline]] inline void multiply_in_turn(unsigned long chain) noexcept {
  chain *= 7;
  asm volatile("" : "+r"(chain));
  if constexpr (steps > 1) multiply_in_turn<steps - 1>(chain);
}

// A rest between two looks at a cache line that another core will write soon. It takes about as long as the line
// takes from core to core, since each look takes the line away from the writer. The pause instruction (5 to 140
// cycles, by processor) lets no load begin early. Behind these multiplications the processor has already begun the
// next loads, and sees at once when the line changes: 8 bytes one way between two workers take 61 ns. With the
// multiplications in a loop they take 75: its end is mispredicted, and the loads are discarded. Without a rest they
// take more. 16 to 32 multiplications are alike (docs/facts.md).
[[gnu::always_inline]] inline void rest_between_looks() noexcept {
  multiply_in_turn<32>(1);
}

}  // namespace weft
