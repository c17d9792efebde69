// A lock in one word of memory that processes share, for a few instructions. The word says which process has it, so that
// another one can take it when that process has died. Memory of zeros is a lock that nobody has.
//
//   R1 give: store word_ -- A1 try_take: compare_exchange word_    the next holder sees what was done under it
#pragma once
#include <cstdint>

#include "sync/atomics.hpp"

namespace weft {

template <class Atomics = std_atomics>
class basic_word_lock {
 public:
  static constexpr std::uint32_t nobody = 0;

  // Takes it from nobody, or from a holder that will never give it. `me` is not 0.
  [[nodiscard]] bool try_take(std::uint32_t me, std::uint32_t from = nobody) noexcept {
    return word_.load(std::memory_order_relaxed) == from &&
           word_.compare_exchange_strong(from, me, Atomics::acquire("A1"),
                                         std::memory_order_relaxed);
  }
  // A hint.
  [[nodiscard]] std::uint32_t holder() const noexcept {
    return word_.load(std::memory_order_relaxed);
  }
  // Called by the holder.
  void give() noexcept { word_.store(nobody, Atomics::release("R1")); }

 private:
  typename Atomics::template atomic<std::uint32_t> word_{nobody};
};
using word_lock = basic_word_lock<>;

}  // namespace weft
