// A lock in one word of memory that processes share, for a few instructions. The word says which process has it, so that
// another one can take it when that process has died. Memory of zeros is a lock that nobody has.
//
//   R1 give: store word_ -- A1 try_take: compare_exchange word_    the next holder sees what was done under it
//   S1 try_take_in_order: compare_exchange word_ -- S2 holder_in_order: load word_
//      of two that each take one lock and then look at the other's at least one sees that it is taken; S2 also sees what was done
//      under a lock that has been given (R1)
#pragma once
#include <cstdint>

#include "sync/atomics.hpp"

namespace weft {

template <class Atomics = std_atomics>
class basic_word_lock {
 public:
  static constexpr std::uint32_t nobody = 0;

  // `me` is not 0.
  [[nodiscard]] bool try_take(std::uint32_t me) noexcept {
    std::uint32_t from = nobody;
    return word_.load(std::memory_order_relaxed) == from &&
           word_.compare_exchange_strong(from, me, Atomics::acquire("A1"),
                                         std::memory_order_relaxed);
  }
  // The same for whoever looks at another lock then.
  [[nodiscard]] bool try_take_in_order(std::uint32_t me) noexcept {
    return word_.load(std::memory_order_relaxed) == nobody && take_in_order(me, nobody);
  }
  // Takes it from another holder that will never give it. is_gone(holder): whether that one is dead, and what it has written
  // is seen. A lock that is given or taken meanwhile is not taken.
  template <class IsGone>
  [[nodiscard]] bool try_take_over_in_order(std::uint32_t me, const IsGone& is_gone) noexcept {
    const std::uint32_t from = holder();
    return from != nobody && from != me && is_gone(from) && take_in_order(me, from);
  }
  [[nodiscard]] std::uint32_t holder_in_order() const noexcept {
    return word_.load(Atomics::seq_cst("S2"));
  }
  // A hint.
  [[nodiscard]] std::uint32_t holder() const noexcept {
    return word_.load(std::memory_order_relaxed);
  }
  // Called by the holder.
  void give() noexcept { word_.store(nobody, Atomics::release("R1")); }

 private:
  [[nodiscard]] bool take_in_order(std::uint32_t me, std::uint32_t from) noexcept {
    return word_.compare_exchange_strong(from, me, Atomics::seq_cst("S1"),
                                         std::memory_order_relaxed);
  }

  typename Atomics::template atomic<std::uint32_t> word_{nobody};
};
using word_lock = basic_word_lock<>;

}  // namespace weft
