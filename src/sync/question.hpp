// One thread asks another for something and does not wait for ever. The other may never answer, or come too late;
// then it must not touch what the next question uses.
//
//   R1 ask:    store state_ -- A1 try_answer: compare-exchange state_   who answers sees the question
//   R2 answer: store state_ -- A2 is_answered: load state_              who asked sees the answer
//
// try_answer() and withdraw() race: the first returns true, the other false.
#pragma once
#include <cstdint>

#include "sync/atomics.hpp"

namespace weft {

template <class Atomics = std_atomics>
class question {
 public:
  // Called by the asker, which has written the question before; `whom` is positive. The last question has been
  // withdrawn, or its answer ended.
  void ask(std::int64_t whom) noexcept { state_.store(whom, Atomics::release("R1")); }
  // Called by the asker. True: nobody has begun to answer, and nobody will.
  bool withdraw(std::int64_t whom) noexcept {
    // Relaxed: nothing of the other's is touched.
    return state_.compare_exchange_strong(whom, none, std::memory_order_relaxed,
                                          std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_answered() const noexcept {
    return state_.load(Atomics::acquire("A2")) == answered;
  }
  // Called by the asker when it has read the answer.
  void end() noexcept { state_.store(none, std::memory_order_relaxed); }

  // Called by any thread, also in a signal handler. True: `me` was asked, and answer() must follow.
  bool try_answer(std::int64_t me) noexcept {
    return state_.compare_exchange_strong(me, answering, Atomics::acquire("A1"),
                                          std::memory_order_relaxed);
  }
  void answer() noexcept { state_.store(answered, Atomics::release("R2")); }

 private:
  static constexpr std::int64_t none = 0, answering = -1, answered = -2;
  typename Atomics::template atomic<std::int64_t> state_{none};
};

}  // namespace weft
