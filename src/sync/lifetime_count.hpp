// Counts those who begin and end while others look, so that one can tell that none lived.
//
//   R1 end: add to ended_ -- A1 ended: load ended_   whoever counts one as ended sees what it did
//
// It takes two looks: how many have ended, and later how many have begun. If these are equal, all who
// had begun by the later look had ended by the earlier one, and none lived in between. The number of
// those that live would not do: it may be zero before one begins and again when it has ended.
#pragma once
#include <cstdint>

#include "sync/atomics.hpp"

namespace weft {

template <class Atomics = std_atomics>
class lifetime_count {
 public:
  // Called by who makes it, before it lives. Relaxed: whoever looks must see its maker rest, or end,
  // after that, and sees this by the same.
  void begin() noexcept { begun_.fetch_add(1, std::memory_order_relaxed); }
  // Called once for each that has begun, after all that it does.
  void end() noexcept { ended_.fetch_add(1, Atomics::release("R1")); }

  // The earlier look.
  [[nodiscard]] std::uint64_t ended() const noexcept { return ended_.load(Atomics::acquire("A1")); }
  // The later one: none has lived since ended() was this.
  [[nodiscard]] bool none_since(std::uint64_t ended) const noexcept {
    return begun_.load(std::memory_order_relaxed) == ended;
  }

 private:
  typename Atomics::template atomic<std::uint64_t> begun_{0}, ended_{0};
};

}  // namespace weft
