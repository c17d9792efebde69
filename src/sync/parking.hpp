// How a worker sleeps without missing work, and without a fence on the path of those who bring it.
//
//   parker: announce() = store state_ parked; heavy fence; look at every source of work once more
//   waker:  publish the work; light fence (a compiler barrier); load state_
//
// The heavy fence (membarrier) runs a full fence on every thread of the process, so either the
// waker's load sees `parked`, or the parker's second look sees the work. docs/protocols/parking.md.
//
//   R1 wake:           exchange state_ -- A1 sleep, is_awake, cancel: load state_   the parker sees what its
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

  // sleep() that also ends when somebody changes the word `bell` from `value`.
  bool sleep_beside(const typename Atomics::template atomic<std::uint32_t>& bell,
                    std::uint32_t value, bool shared, std::int64_t timeout_ns) noexcept {
    if (state_.load(Atomics::acquire("A1")) == awake) return true;
    Atomics::wait_for_either(state_, parked, bell, value, shared, timeout_ns);
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

  // Called by the parker: whether somebody has woken it. It sees what that one did before.
  [[nodiscard]] bool is_awake() const noexcept {
    return state_.load(Atomics::acquire("A1")) == awake;
  }

  [[nodiscard]] bool is_parked() const noexcept {
    return state_.load(std::memory_order_relaxed) == parked;  // Relaxed: a hint.
  }

  // For a parker that sleeps by other means than sleep(): a futex wait for `parked` on this word ends when it is woken.
  [[nodiscard]] const auto& word() const noexcept { return state_; }
  static constexpr std::uint32_t parked = 1;

  // Called by anyone who saw it parked. True when this call woke the parker.
  [[gnu::noinline]] bool wake() noexcept {
    if (state_.exchange(awake, Atomics::release("R1")) == awake) return false;
    Atomics::wake(state_);
    return true;
  }

 private:
  static constexpr std::uint32_t awake = 0;

  typename Atomics::template atomic<std::uint32_t> state_{awake};
};

// How many of a fixed number of parkers are parked. The last one that parks learns so: nobody is left to bring work.
//
// A waker lowers the count before it wakes a parker: the parker may park again at once and must not be counted twice. A
// parker lowers the count itself only when it wakes on its own, before it is awake. So the count is at most the number of
// parkers that are parked and that nobody is about to wake. It may be lower for a moment, when one waker was slower than another.
//
//   R2 park: fetch_add count_ -- A2 park: fetch_add count_   the last parker sees all that others did
template <class Atomics = std_atomics>
class parked_count {
 public:
  using spot = parking_spot<Atomics>;

  enum class outcome {
    awake,   // There was work after all.
    parked,  // Counted and announced: spot.sleep() or leave().
    last,    // As parked, and now all are parked.
  };

  explicit parked_count(std::int64_t all) noexcept : all_(all) {}

  // Called by the parker that owns `mine`.
  template <class Look>
  [[nodiscard]] outcome park(spot& mine, const Look& has_work) noexcept {
    mine.announce();
    if (has_work()) {
      // Relaxed: makes up for the waker that was faster.
      if (!mine.cancel()) count_.fetch_add(1, std::memory_order_relaxed);
      return outcome::awake;
    }
    return count_.fetch_add(1, Atomics::acq_rel("A2", "R2")) + 1 == all_ ? outcome::last
                                                                         : outcome::parked;
  }

  // Called by a parker that wakes on its own. As in wake(), the count is lowered first: after the cancellation a waker that is
  // late puts its own back, and may park as if this one had no work.
  void leave(spot& mine) noexcept {
    count_.fetch_sub(1, std::memory_order_relaxed);  // Relaxed: only counts.
    if (!mine.cancel()) count_.fetch_add(1, std::memory_order_relaxed);
  }

  // Called by anyone after publishing work for the parker of `other`. True when this call woke it.
  bool wake_if_parked(spot& other) noexcept {
    Atomics::light_fence("L1");
    if (!other.is_parked()) [[likely]]
      return false;
    return wake(other);
  }

  // Called by anyone: hints.
  [[nodiscard]] bool any() const noexcept { return count_.load(std::memory_order_relaxed) > 0; }
  [[nodiscard]] bool all() const noexcept { return count_.load(std::memory_order_relaxed) == all_; }

  // Called by a parker that is awake. True: all others are parked, and the caller sees what they did.
  [[nodiscard]] bool all_but_one() const noexcept {
    return count_.load(Atomics::acquire("A2")) == all_ - 1;
  }

 private:
  [[gnu::noinline]] bool wake(spot& other) noexcept {
    // Relaxed: the exchange in wake() carries it to the parker, before that one can park again.
    count_.fetch_sub(1, std::memory_order_relaxed);
    if (other.wake()) return true;
    count_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }

  const std::int64_t all_;
  typename Atomics::template atomic<std::int64_t> count_{0};
};

}  // namespace weft
