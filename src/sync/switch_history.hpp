// When something was on, that many threads switch on and off: it is on while any of them has it on. Nobody waits for anybody.
//
// One word has the number of those that have it on and the number of changes so far. Whoever makes it the first, or none, has
// made a change, and writes the time of that one into a ring. An entry says itself of which change it is: a reader that comes
// before the writer, or after the ring has gone round, sees that the time is missing. So nothing here orders anything.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "sync/atomics.hpp"

namespace weft {

template <std::size_t Kept = 4096, class Atomics = std_atomics, int TimeBits = 52>
class switch_history {
 public:
  // Called by each thread in turn: on, then off. `now`: a clock that all threads share.
  void switch_on(std::uint64_t now) noexcept {
    change(now, [](std::uint64_t on) { return on + 1; });
  }
  void switch_off(std::uint64_t now) noexcept {
    change(now, [](std::uint64_t on) { return on - std::min<std::uint64_t>(on, 1); });
  }

  // Called by anyone: how long it was on from `from` until `until`, which is not in the future. Changes that lie more than
  // `Kept` back count as none.
  [[nodiscard]] std::uint64_t on_between(std::uint64_t from, std::uint64_t until) const noexcept {
    const std::uint64_t count = state_.load(std::memory_order_relaxed) / one_change;
    const std::uint64_t oldest = count - std::min<std::uint64_t>(count, Kept);
    std::uint64_t sum = 0, end = until;
    for (std::uint64_t number = count; number > oldest && end > from; --number) {
      const std::uint64_t since = std::clamp(time_of(number - 1, end), from, end);
      if ((number - 1) % 2 == 0) sum += end - since;
      end = since;
    }
    return sum;
  }

  // Called while nobody else uses it.
  void forget() noexcept {
    state_.store(0, std::memory_order_relaxed);
    for (auto& entry : entries_) entry.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint64_t one_change = 1 << 16;  // Below it: how many have it on.
  // An entry: the lower bits of the time, and how often the ring has gone round, from 1 on. That number wraps.
  static constexpr int time_bits = TimeBits;
  static constexpr std::uint64_t time_mask = (std::uint64_t{1} << time_bits) - 1;

  [[nodiscard]] static std::uint64_t round_of(std::uint64_t number) noexcept {
    return (number / Kept + 1) << time_bits;
  }

  template <class Next>
  void change(std::uint64_t now, const Next& next) noexcept {
    std::uint64_t before = state_.load(std::memory_order_relaxed);
    for (;;) {
      const std::uint64_t on = before % one_change, on_then = next(on);
      const bool changes = (on == 0) != (on_then == 0);
      const std::uint64_t after = before - on + on_then + (changes ? one_change : 0);
      if (!state_.compare_exchange_weak(before, after, std::memory_order_relaxed,
                                        std::memory_order_relaxed))
        continue;
      if (changes) note(before / one_change, now);
      return;
    }
  }

  [[nodiscard]] static bool is_of_earlier_round(std::uint64_t one, std::uint64_t other) noexcept {
    constexpr std::uint64_t rounds = std::uint64_t{1} << (64 - time_bits);
    const std::uint64_t ahead = ((other >> time_bits) - (one >> time_bits)) % rounds;
    return ahead != 0 && ahead < rounds / 2;
  }

  // A writer that is late by a whole round leaves the entry to the one after it.
  void note(std::uint64_t number, std::uint64_t now) noexcept {
    auto& entry = entries_[number % Kept];
    const std::uint64_t value = round_of(number) | (now & time_mask);
    std::uint64_t before = entry.load(std::memory_order_relaxed);
    while (is_of_earlier_round(before, value) &&
           !entry.compare_exchange_weak(before, value, std::memory_order_relaxed,
                                        std::memory_order_relaxed)) {
    }
  }

  // `otherwise` where it is not known yet, or later than that.
  [[nodiscard]] std::uint64_t time_of(std::uint64_t number,
                                      std::uint64_t otherwise) const noexcept {
    const std::uint64_t entry = entries_[number % Kept].load(std::memory_order_relaxed);
    if ((entry & ~time_mask) != round_of(number)) return otherwise;
    const std::uint64_t ago = (otherwise - entry) & time_mask;
    return ago > time_mask / 2 || ago > otherwise ? otherwise : otherwise - ago;
  }

  typename Atomics::template atomic<std::uint64_t> state_{0};
  std::array<typename Atomics::template atomic<std::uint64_t>, Kept> entries_{};
};

}  // namespace weft
