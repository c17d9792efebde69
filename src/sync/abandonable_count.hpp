// Counts work that some threads begin and others end, and that may be given up as a whole: what is under way then counts as
// ended, what begins later does not count, and no unit is counted out twice.
//
//   R1 begin: add to word_ -- A1 abandon: set the mark in word_   who gives a unit up sees what was done before it began
#pragma once
#include <cstdint>

#include "sync/atomics.hpp"

namespace weft {

template <class Atomics = std_atomics>
class abandonable_count {
 public:
  // Called by any thread. False: it has been given up, and counts no more.
  [[nodiscard]] bool begin() noexcept {
    return (word_.fetch_add(one, Atomics::release("R1")) & abandoned) == 0;
  }
  // Called once for each begin(), by any thread that knows of it. False: abandon() has counted it, or begin() did not.
  // Relaxed: who ends a unit knows of its begin by other means.
  [[nodiscard]] bool end() noexcept {
    return (word_.fetch_sub(one, std::memory_order_relaxed) & abandoned) == 0;
  }
  // Called by any thread. Returns how many units are given up by this call.
  [[nodiscard]] std::uint64_t abandon() noexcept {
    const std::uint64_t before = word_.fetch_or(abandoned, Atomics::acquire("A1"));
    return (before & abandoned) != 0 ? 0 : before / one;
  }

 private:
  static constexpr std::uint64_t abandoned = 1, one = 2;
  typename Atomics::template atomic<std::uint64_t> word_{0};
};

}  // namespace weft
