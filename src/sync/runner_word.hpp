// Which thread runs a worker, where workers move between threads. docs/protocols/moving.md.
//
//   R1 put_down: store runner_ -- A1 try_take: compare-exchange runner_   who runs the worker sees what the one before did
//   R2 call: exchange word_    -- A2 answer: exchange word_               who is called sees what its caller has put down
//                                                                         or left for it
#pragma once
#include <cstdint>

#include "sync/atomics.hpp"

namespace weft {

// Nobody, or the number of the thread that runs the worker. All plain state of the worker belongs to that thread.
template <class Atomics = std_atomics>
class runner_word {
 public:
  static constexpr std::uint32_t nobody = 0;

  // Called by thread `number`, not 0. False: another one runs the worker.
  [[nodiscard]] bool try_take(std::uint32_t number) noexcept {
    // An exchange that must fail would take the line from the one that runs it.
    if (runner_.load(std::memory_order_relaxed) != nobody) return false;
    std::uint32_t expected = nobody;
    return runner_.compare_exchange_strong(expected, number, Atomics::acquire("A1"),
                                           std::memory_order_relaxed);
  }
  // Called by who runs it, when the worker's flow of control is suspended.
  void put_down() noexcept { runner_.store(nobody, Atomics::release("R1")); }
  // Called by who runs it: thread `number` does from now on. It learns so by call(), which orders.
  void pass_to(std::uint32_t number) noexcept { runner_.store(number, std::memory_order_relaxed); }

  // Called by anyone, a hint.
  [[nodiscard]] std::uint32_t number() const noexcept {
    return runner_.load(std::memory_order_relaxed);
  }

 private:
  typename Atomics::template atomic<std::uint32_t> runner_{nobody};
};

// The same for a worker that may have to stay on one thread. The threads of its kind have the numbers from 1 on; thread i of
// the job is number i + 1.
template <class Atomics = std_atomics>
class kept_runner : public runner_word<Atomics> {
 public:
  // Called by thread `number`. False: another one runs the worker, or it stays on another one.
  [[nodiscard]] bool try_take_unless_kept(std::uint32_t number) noexcept {
    if (!may_have_it(number) || !this->try_take(number)) return false;
    if (may_have_it(number)) return true;
    this->put_down();  // It has begun to stay since the first look, as A1 shows.
    return false;
  }
  // Called by who runs it: it stays on this thread from now on, until as many calls of let_go(). Others may call it, too, where
  // it is enough that the worker stays on the thread that runs it next.
  void keep() noexcept { kept_.fetch_add(1, std::memory_order_relaxed); }
  void let_go() noexcept { kept_.fetch_sub(1, std::memory_order_relaxed); }

  // Called by anyone, hints. R1 and A1 order both for who takes the worker.
  [[nodiscard]] bool is_kept() const noexcept { return kept_.load(std::memory_order_relaxed) != 0; }
  // The thread whose worker it is.
  [[nodiscard]] int home() const noexcept { return home_.load(std::memory_order_relaxed); }
  // Called by who runs it, and before anybody does.
  void set_home(int thread) noexcept { home_.store(thread, std::memory_order_relaxed); }

 private:
  [[nodiscard]] bool may_have_it(std::uint32_t number) const noexcept {
    return !is_kept() || number == static_cast<std::uint32_t>(home()) + 1;
  }

  typename Atomics::template atomic<int> home_{0};
  typename Atomics::template atomic<int> kept_{0};
};

// By which a thread that sleeps, or is about to, is told to look again.
template <class Atomics = std_atomics>
class call_word {
 public:
  static constexpr std::uint32_t not_called = 0;

  // Called by its thread before it looks: it sleeps, while the word is `not_called`, only if the look finds nothing.
  bool answer() noexcept {
    return word_.exchange(not_called, Atomics::acquire("A2")) != not_called;
  }
  // Called by anyone who has something for the thread.
  void call() noexcept {
    if (word_.exchange(1, Atomics::release("R2")) == not_called) Atomics::wake(word_);
  }
  [[nodiscard]] auto& word() noexcept { return word_; }

 private:
  typename Atomics::template atomic<std::uint32_t> word_{not_called};
};

}  // namespace weft
