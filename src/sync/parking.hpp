// How a worker sleeps without missing work, and without a fence on the path of those who bring it.
//
//   parker: announce() = store state_ parked; heavy fence; look at every source of work once more
//   waker:  publish the work; light fence (a compiler barrier); load state_
//
// The heavy fence (membarrier) runs a full fence on every thread of the process, so either the
// waker's load sees `parked`, or the parker's second look sees the work. docs/protocols/parking.md.
//
//   R1 wake:           exchange state_ -- A1 sleep, cancel: load state_   the parker sees what its
//                                                                         waker did before
//   L1 wake_if_parked: work, then state_ -- H1 announce: state_, then work   no wake-up is lost
#pragma once
#include <cstdint>

#include "sync/atomics.hpp"

namespace weft {

template <class Atomics = std_atomics>
class parking_spot {
 public:
  // Called by the parker. Afterwards it looks at its sources again, then sleep() or cancel().
  void announce() noexcept {
    // Relaxed: the heavy fence orders it before the second look.
    state_.store(parked, std::memory_order_relaxed);
    Atomics::heavy_fence("H1");
  }

  // Called by the parker, which found work after all. False when a waker was faster.
  bool cancel() noexcept { return state_.exchange(awake, Atomics::acquire("A1")) == parked; }

  // Called by the parker: sleeps until woken or until `timeout_ns` (negative: for ever) is over.
  // True when woken; after false the caller must cancel().
  bool sleep(std::int64_t timeout_ns) noexcept {
    if (state_.load(Atomics::acquire("A1")) == awake) return true;
    Atomics::wait(state_, parked, timeout_ns);
    return state_.load(Atomics::acquire("A1")) == awake;
  }

  // Called by anyone after publishing work. True when this call woke the parker.
  bool wake_if_parked() noexcept {
    Atomics::light_fence("L1");
    // Relaxed: ordered after the publication by the fence pair.
    if (state_.load(std::memory_order_relaxed) == awake) [[likely]]
      return false;
    return wake();
  }

  [[nodiscard]] bool is_parked() const noexcept {
    return state_.load(std::memory_order_relaxed) == parked;  // Relaxed: a hint.
  }

 private:
  static constexpr std::uint32_t awake = 0;
  static constexpr std::uint32_t parked = 1;

  [[gnu::noinline]] bool wake() noexcept {
    if (state_.exchange(awake, Atomics::release("R1")) == awake) return false;
    Atomics::wake(state_);
    return true;
  }

  typename Atomics::template atomic<std::uint32_t> state_{awake};
};

}  // namespace weft
