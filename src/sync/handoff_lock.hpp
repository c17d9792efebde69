// A lock for long critical sections, in which the holder mostly waits: a thread of a worker holds it while it runs the
// worker's code. The holder offers it now and then; a thread that wants it says so and gets it at the next offer.
//
//   R1 give: store holder_ -- A1 try_take: compare-exchange holder_   the next holder sees what this one did
//
// wanted_ and turns_ are hints: a thread that misreads one takes the lock a little later.
#pragma once
#include <cstdint>

#include "sync/atomics.hpp"

namespace weft {

template <class Atomics = std_atomics>
class basic_handoff_lock {
 public:
  // `me` marks the calling thread. False: another has it.
  [[nodiscard]] bool try_take(const void* me) noexcept {
    // An exchange that must fail would take the line from the holder.
    if (holder_.load(std::memory_order_relaxed) != nullptr) return false;
    const void* nobody = nullptr;
    return holder_.compare_exchange_strong(nobody, me, Atomics::acquire("A1"),
                                           std::memory_order_relaxed);
  }
  // Relaxed: only this thread writes its own mark, and it sees its own stores.
  [[nodiscard]] bool held_by(const void* me) const noexcept {
    return holder_.load(std::memory_order_relaxed) == me;
  }
  // Waits for the lock; calls rest(round) between two attempts.
  template <class Rest>
  void take(const void* me, const Rest& rest) noexcept {
    if (try_take(me)) return;
    wanted_.fetch_add(1, std::memory_order_relaxed);
    for (unsigned round = 0; !try_take(me); ++round) rest(round);
    wanted_.fetch_sub(1, std::memory_order_relaxed);
    // Relaxed: a hint, and only the holder writes it.
    turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  // The functions below are called by the holder.
  void give() noexcept { holder_.store(nullptr, Atomics::release("R1")); }
  [[nodiscard]] bool is_wanted() const noexcept {
    return wanted_.load(std::memory_order_relaxed) != 0;
  }
  // Gives the lock up if another thread wants it, and takes it again after that thread.
  template <class Rest>
  void offer(const void* me, const Rest& rest, unsigned rounds_max) noexcept {
    if (!is_wanted()) return;
    give();
    take_after_others(me, rest, rounds_max);
  }
  // Called by the previous holder, whose core still has the cache line and would win every race. It waits until
  // another thread has had the lock, for `rounds_max` calls of `rest` at most: who wants the lock may have no core.
  template <class Rest>
  void take_after_others(const void* me, const Rest& rest, unsigned rounds_max) noexcept {
    const std::uint32_t turn = turns_.load(std::memory_order_relaxed);
    for (unsigned round = 0; round < rounds_max && is_wanted(); ++round) {
      if (turns_.load(std::memory_order_relaxed) != turn) break;
      rest(round);
    }
    take(me, rest);
  }

 private:
  alignas(padding_bytes) typename Atomics::template atomic<const void*> holder_{nullptr};
  typename Atomics::template atomic<std::uint32_t> turns_{0};
  alignas(padding_bytes) typename Atomics::template atomic<std::uint32_t> wanted_{0};
};

}  // namespace weft
