// A lock in one word of the program's memory, which is zero before it is first used: free, taken, or taken while
// somebody may sleep for it.
//
//   R1 give: exchange word_ -- A1 try_take: compare_exchange word_     the next holder sees what was done under it
//                           -- A2 take_by_sleeping: exchange word_
#pragma once
#include <cstdint>

#include "sync/atomics.hpp"

namespace weft {

template <class Atomics = std_atomics>
class basic_thread_lock {
 public:
  [[nodiscard]] bool try_take() noexcept {
    std::uint32_t expected = free;
    return word_.load(std::memory_order_relaxed) == free &&
           word_.compare_exchange_strong(expected, taken, Atomics::acquire("A1"),
                                         std::memory_order_relaxed);
  }
  void take_by_sleeping() noexcept {
    while (word_.exchange(awaited, Atomics::acquire("A2")) != free)
      Atomics::wait(word_, awaited, -1);
  }
  void give() noexcept {
    if (word_.exchange(free, Atomics::release("R1")) == awaited) Atomics::wake(word_);
  }

 private:
  static constexpr std::uint32_t free = 0, taken = 1, awaited = 2;
  typename Atomics::template atomic<std::uint32_t> word_{free};
};

}  // namespace weft
