// A count of things that are not done. One thread, the home, counts without atomics; other threads count with them. A
// thing may be added on one side and finished on the other, so each side's number may be negative: the sum counts.
//
//   R1 finish_elsewhere: lower word_ -- A1 is_done: load word_   the home sees what was done elsewhere
//                                    -- A2 settle:  raise word_  likewise
//                                    -- A3 finish_elsewhere      so does the last thread, which tells the home
//
// Only the home knows the sum. When it has nothing else to do it settles: it adds its own number to the word, with a
// mark. From then until resume() all threads count in the word, and the one that brings it to 0 learns so and tells
// the home. The home does not go on before that, so the owner of the count lives.
//
// The sum does not reach 0 too early. A thread adds only on behalf of a thing that is not finished itself. A thing
// that is added and finished elsewhere changes the word in this order. A thing that is added elsewhere and finished
// at home has been seen by the home when it got it.
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
  // True: the home has settled, and this was the last thing that it waits for.
  [[nodiscard]] bool finish_at_home() noexcept {
    if (settled_) [[unlikely]]
      return finish_elsewhere();
    --at_home_;
    return false;
  }
  [[nodiscard]] bool is_done() const noexcept {
    return at_home_ * one + word_.load(Atomics::acquire("A1")) == 0;
  }
  // True when all are done. Else another thread finishes the last one and tells the home, which then calls resume().
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
  // Relaxed: see above.
  void add_elsewhere() noexcept { word_.fetch_add(one, std::memory_order_relaxed); }
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
