// How much may be under way to one receiver. A sender takes credits; they come back when the receiver has used what was
// sent. A sender that finds none sleeps; the thread that brings some back wakes it.
//
// One word holds how many are taken, and a mark: somebody waits. All accesses are relaxed: credits that come back
// publish no other memory. No sender sleeps for ever, by the order of changes of this one word: the step in which it
// finds no room also sets the mark. Credits that came back before have made room. Those that come back later find the
// mark, take it away and wake all waiting senders, each of which takes credits or marks again.
#pragma once
#include <algorithm>
#include <cstdint>

#include "sync/atomics.hpp"

namespace weft {

template <class Atomics = std_atomics>
class credits {
 public:
  // There is room while fewer than `limit` are taken; the last taken may go beyond it.
  explicit credits(std::uint64_t limit) noexcept : limit_(limit) {}

  // Called by any thread. False: there is no room, and give_back() will say that somebody waits.
  [[nodiscard]] bool take_or_wait(std::uint64_t cost) noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    for (;;) {
      const bool has_room = word / one < limit_;
      if (!has_room && (word & waiting) != 0) return false;
      const std::uint64_t next = has_room ? word + cost * one : word | waiting;
      if (word_.compare_exchange_strong(word, next, std::memory_order_relaxed,
                                        std::memory_order_relaxed))
        return has_room;
    }
  }

  struct answer {
    bool wake_all = false;  // The caller wakes all waiting senders.
  };
  // Called by any thread. When a receiver gives back more than was taken, all is back.
  [[nodiscard]] answer give_back(std::uint64_t cost) noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    for (;;) {
      const std::uint64_t left = word / one - std::min(cost, word / one);
      if (word_.compare_exchange_strong(word, left * one, std::memory_order_relaxed,
                                        std::memory_order_relaxed))
        return {(word & waiting) != 0};
    }
  }

  // A hint.
  [[nodiscard]] std::uint64_t taken() const noexcept {
    return word_.load(std::memory_order_relaxed) / one;
  }

 private:
  static constexpr std::uint64_t waiting = 1, one = 2;
  const std::uint64_t limit_;
  typename Atomics::template atomic<std::uint64_t> word_{0};
};

}  // namespace weft
