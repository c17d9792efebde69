// A barrier of threads that can be tested without waiting. More threads than it has members may use it: each round has
// as many as it has members. The caller decides how threads wait in the kernel.
//
//   R1 arrive: exchange state_ -- A1 arrive: exchange state_    the last sees what the others did before,
//                              -- A2 is_over: load state_       and each of them what all did
//   R2 leave: fetch_sub inside_ -- A3 is_empty: load inside_    nobody looks at a barrier that is gone
#pragma once
#include <bit>
#include <cstdint>

#include "sync/atomics.hpp"

namespace weft {

template <class Atomics = std_atomics>
class basic_thread_barrier {
 public:
  explicit basic_thread_barrier(std::uint32_t members) noexcept : members_(members) {}

  struct arrival {
    std::uint32_t round;
    bool is_last;  // The round is over.
  };
  // Each thread but the last waits until is_over(its round); then all call leave().
  [[nodiscard]] arrival arrive() noexcept {
    inside_.fetch_add(1, std::memory_order_relaxed);
    std::uint64_t before = state_.load(std::memory_order_relaxed);
    for (;;) {
      const bool is_last = static_cast<std::uint32_t>(before) + 1 == members_;
      const std::uint64_t after = is_last ? std::uint64_t{round_of(before) + 1} << 32 : before + 1;
      if (state_.compare_exchange_weak(before, after, Atomics::acq_rel("A1", "R1"),
                                       std::memory_order_relaxed))
        return {round_of(before), is_last};
    }
  }
  [[nodiscard]] bool is_over(std::uint32_t round) const noexcept {
    return round_of(state_.load(Atomics::acquire("A2"))) != round;
  }
  void leave() noexcept { inside_.fetch_sub(1, Atomics::release("R2")); }
  // Called when no thread comes any more.
  [[nodiscard]] bool is_empty() const noexcept { return inside_.load(Atomics::acquire("A3")) == 0; }
  // For a futex: has the number of the round.
  [[nodiscard]] const std::uint32_t* round_word() const noexcept {
    static_assert(std::endian::native == std::endian::little);
    return reinterpret_cast<const std::uint32_t*>(&state_) + 1;
  }

 private:
  static std::uint32_t round_of(std::uint64_t state) noexcept {
    return static_cast<std::uint32_t>(state >> 32);
  }

  typename Atomics::template atomic<std::uint64_t> state_{0};  // The round; below it who has come.
  typename Atomics::template atomic<std::uint32_t> inside_{0};
  const std::uint32_t members_;
};

}  // namespace weft
