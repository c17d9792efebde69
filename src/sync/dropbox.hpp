// What the parties of collectives publish to each other: values with a sequence number. No reader acknowledges a
// slot: a later collective shows that all have read it.
//
//   R1 dropbox::publish:          store sequence -- A1 dropbox::holds:          load sequence
//   R2 broadcast_slots::publish:  store sequence -- A2 broadcast_slots::holds:  load sequence
//   a reader that sees the number sees the content
//
// A slot is written again only when all have read it:
//
// - dropbox: the writer overwrites the value of meeting s in meeting s + 2. Each party publishes s + 1 only after it has
//   read all that it needs of s, and the writer comes to s + 2 only after it has seen s + 1 of every reader, directly or
//   through others: A1 again.
// - broadcast_slots: between broadcast n and n + Slots all parties meet, through dropboxes, and none
//   comes to that meeting before it has completed broadcast n.
//
// docs/protocols/collectives.md has the proof; tests/model/dropbox_model.cpp runs both.
#pragma once

#include <array>
#include <cstdint>

#include "base/limits.hpp"
#include "sync/atomics.hpp"

namespace weft {

// The values of one writer, for the meetings 1, 2, 3, ... in order.
template <class T, class Atomics = std_atomics, std::size_t Slots = 2>
class dropbox {
 public:
  // Called by the writer only, after it has completed meeting `number` - 1. `fill` writes the content.
  template <class Fill>
  void publish(std::uint64_t number, const Fill& fill) {
    slot& to = slots_[number % Slots];
    fill(to.content);
    to.sequence.store(number, Atomics::release("R1"));
  }

  // Called by a reader in meeting `number`: true once the content is there, and until the reader
  // itself publishes the next meeting.
  [[nodiscard]] bool holds(std::uint64_t number) const noexcept {
    return slots_[number % Slots].sequence.load(Atomics::acquire("A1")) >= number;
  }

  // Called when it holds meeting `number`, or by the writer.
  [[nodiscard]] const T& content(std::uint64_t number) const noexcept {
    return slots_[number % Slots].content;
  }

 private:
  struct slot {
    alignas(cache_line) typename Atomics::template atomic<std::uint64_t> sequence{0};
    T content;
  };

  std::array<slot, Slots> slots_{};
};

// The values of broadcasts 1, 2, 3, ... of all parties. The root of a broadcast takes its slot, publishes and waits for
// nobody. When several parties take themselves for the root, which is an error, the first gets the slot and the others
// learn that they have not.
template <class T, std::size_t Slots, class Atomics = std_atomics>
class broadcast_slots {
 public:
  // Whether all must meet after broadcast `number` - 1 and before this one.
  [[nodiscard]] static constexpr bool meets_before(std::uint64_t number) noexcept {
    return number % Slots == 0;
  }

  // Called by anyone: true for the first caller, which alone may publish this broadcast.
  [[nodiscard]] bool try_take(std::uint64_t number) noexcept {
    const std::uint64_t taken = 2 * number - 1;
    // Most likely it holds the broadcast of the round before; it may also have been left out.
    std::uint64_t before = number > Slots ? 2 * (number - Slots) : 0;
    // Relaxed: the meeting since then orders what is written next after all that was read.
    while (before < taken)
      if (of(number).sequence.compare_exchange_strong(before, taken, std::memory_order_relaxed,
                                                      std::memory_order_relaxed))
        return true;
    return false;
  }

  // Called by the party that took the slot. `fill` writes the content.
  template <class Fill>
  void publish(std::uint64_t number, const Fill& fill) {
    slot& to = of(number);
    fill(to.content);
    to.sequence.store(2 * number, Atomics::release("R2"));
  }

  // Called by a party that has not come to the next meeting: true once the content is there.
  [[nodiscard]] bool holds(std::uint64_t number) const noexcept {
    return slots_[number % Slots].sequence.load(Atomics::acquire("A2")) >= 2 * number;
  }
  // Called when it holds broadcast `number`.
  [[nodiscard]] const T& content(std::uint64_t number) const noexcept {
    return slots_[number % Slots].content;
  }

 private:
  struct slot {
    // 2 n - 1 when taken for broadcast n, 2 n when that is published.
    alignas(cache_line) typename Atomics::template atomic<std::uint64_t> sequence{0};
    T content;
  };

  [[nodiscard]] slot& of(std::uint64_t number) noexcept { return slots_[number % Slots]; }

  std::array<slot, Slots> slots_{};
};

}  // namespace weft
