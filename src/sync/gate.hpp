// Counts threads inside, and can be closed. Then no thread enters any more; when the last has left, the closer may
// destroy what is inside.
//
//   R1 leave: fetch_sub word_ -- A1 is_empty: load word_   whoever closes sees what those inside did
#pragma once
#include <cstdint>

#include "sync/atomics.hpp"

namespace weft {

template <class Atomics = std_atomics>
class basic_gate {
 public:
  // False: it is closed. Relaxed: one word says both, and what is inside has been there for longer.
  [[nodiscard]] bool enter() noexcept {
    if ((word_.fetch_add(one, std::memory_order_relaxed) & closed) == 0) return true;
    leave();
    return false;
  }
  void leave() noexcept { word_.fetch_sub(one, Atomics::release("R1")); }
  void close() noexcept { word_.fetch_add(closed, std::memory_order_relaxed); }  // Once.
  [[nodiscard]] bool is_closed() const noexcept {
    return (word_.load(std::memory_order_relaxed) & closed) != 0;
  }
  // Called after close(). A thread that finds the gate closed may count for a moment; it touches nothing.
  [[nodiscard]] bool is_empty() const noexcept {
    return word_.load(Atomics::acquire("A1")) == closed;
  }

 private:
  static constexpr std::uint32_t closed = 1, one = 2;
  typename Atomics::template atomic<std::uint32_t> word_{0};
};
using gate = basic_gate<>;

}  // namespace weft
