// Counts what begins and ends beside parked workers, such as threads and timers, so that an observer can tell that none
// has lived between two looks.
//
//   R1 end: add to ended_ -- A1 ended: load ended_   an observer that counts one as ended sees what it did
//
// The first look reads how many have ended, the second how many have begun. If these are equal, all that had begun by the
// second look had ended by the first, so none lived in between. A count of the living would not do: it may be zero before
// one begins and again after it has ended.
#pragma once
#include <cstdint>

#include "sync/atomics.hpp"

namespace weft {

template <class Atomics = std_atomics>
class lifetime_count {
 public:
  // Called before one lives. Relaxed: an observer has to see its maker parked after this, or sees what it has done, and by
  // that it sees this too.
  void begin() noexcept { begun_.fetch_add(1, std::memory_order_relaxed); }
  // Called once for each that has begun, after all that it does.
  void end() noexcept { ended_.fetch_add(1, Atomics::release("R1")); }

  // The first look.
  [[nodiscard]] std::uint64_t ended() const noexcept { return ended_.load(Atomics::acquire("A1")); }
  // The second look. True: none has lived since ended() returned `ended`.
  [[nodiscard]] bool none_since(std::uint64_t ended) const noexcept {
    return begun_.load(std::memory_order_relaxed) == ended;
  }

 private:
  typename Atomics::template atomic<std::uint64_t> begun_{0}, ended_{0};
};

}  // namespace weft
