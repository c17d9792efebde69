// How many things are not done, counted by one thread, the home, for nothing, and by others with atomics. A thing may
// be added on one side and finished on the other: each side's own number may be negative, their sum is what counts.
//
//   R1 finish_elsewhere: lower word_ -- A1 is_done: load word_   the home sees what was done elsewhere
//                                    -- A2 settle:  raise word_  likewise
//                                    -- A3 finish_elsewhere      so does the last, who tells the home
//
// Only the home knows the sum. When it has nothing else to do it settles: its own number goes into the word, with a
// mark, and from then on until resume() all count there; whoever brings it to 0 then learns so, and tells the home.
// Until then nothing else lets it go on, so what the count belongs to lives.
//
// Who adds on the home's behalf has not finished itself, so the sum does not come to 0 too early: of a thing that was
// added and finished elsewhere both are in the word, in this order, and one that was added there and is finished at
// home was seen by the home when it got it.
#pragma once
#include <cstdint>

#include "sync/atomics.hpp"

namespace weft {

template <class Atomics = std_atomics>
class split_count {
 public:
  // Called by the home.
  void add_at_home() noexcept {
    // Relaxed: who adds gives the thing to its doer by other means.
    if (settled_) [[unlikely]]
      word_.fetch_add(one, std::memory_order_relaxed);
    else
      ++at_home_;
  }
  // True: it was the last one that a home which has settled waits for.
  [[nodiscard]] bool finish_at_home() noexcept {
    if (settled_) [[unlikely]]
      return finish_elsewhere();
    --at_home_;
    return false;
  }
  [[nodiscard]] bool is_done() const noexcept {
    return at_home_ * one + word_.load(Atomics::acquire("A1")) == 0;
  }
  // True when all are done; else somebody will learn that they are, and the home calls resume() when it is told.
  [[nodiscard]] bool settle() noexcept {
    const std::int64_t own = at_home_;
    at_home_ = 0;
    settled_ = true;
    if (word_.fetch_add(own * one + waiting, Atomics::acquire("A2")) + own * one != 0) return false;
    resume();
    return true;
  }
  void resume() noexcept {
    settled_ = false;
    word_.store(0, std::memory_order_relaxed);  // Relaxed: all are done, nobody else looks.
  }

  // Called by other threads.
  void add_elsewhere() noexcept { word_.fetch_add(one, std::memory_order_relaxed); }  // As above.
  [[nodiscard]] bool finish_elsewhere() noexcept {
    return word_.fetch_sub(one, Atomics::acq_rel("A3", "R1")) == one + waiting;
  }

 private:
  static constexpr std::int64_t waiting = 1, one = 2;

  std::int64_t at_home_ = 0;  // The home's.
  bool settled_ = false;
  typename Atomics::template atomic<std::int64_t> word_{
      0};  // Twice the number elsewhere; odd: the home waits.
};

}  // namespace weft
