// How the one consumer of many rings, perhaps in another process than their producers, learns which
// of them to look at, and how it goes to sleep.
//
// The fast path: the consumer watches a ring, which means that it looks at it in every poll, and the producer only
// publishes. When a ring is not watched, its producer announces it after publishing: it sets the ring's bit and wakes
// the consumer. A consumer stops watching rings that have been silent for long, and all rings before it sleeps.
// docs/protocols/shm.md.
//
//   producer: publish; light fence; load watched; if it is not: set the bit, wake if parked
//   consumer: stop watching; heavy fence; look at the ring once more
//
// In the other direction a producer that found no room asks for it before it sleeps, and the
// consumer looks for that after it has given some.
//
//   R3 announce: fetch_or bits_               -- A3 take: exchange bits_
//      A consumer that takes a bit sees the record behind it.
//   L2 is_watched: the record, then watched_  -- H2 settle, or H1 of the parking spot:
//      watched_, then the ring. No record is overlooked.
//   L3 take_request: the room, then wanted_   -- H1 of the parking spot: wanted_, then the room
//
// A consumer that finds a summary bit finds the bits behind it. That release and acquire carry no label, since the
// checker executes read-modify-writes in program order and cannot show what they prevent.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "sync/atomics.hpp"

namespace weft {

// Whether the consumer watches one ring. False at the start, so the producer announces the first record.
template <class Atomics = std_atomics>
class watch_flag {
 public:
  // Called by the producer after publishing. When false, it must announce the ring.
  [[nodiscard]] bool is_watched() const noexcept {
    Atomics::light_fence("L2");
    // Relaxed: ordered after the record by the fence pair.
    return watched_.load(std::memory_order_relaxed) != 0;
  }

  // Called by the consumer, which looks at the ring afterwards.
  // Relaxed: a producer that sees it late only announces once more.
  void watch() noexcept { watched_.store(1, std::memory_order_relaxed); }
  // Called by the consumer. Afterwards, once for all flags that it has stopped, it calls settle(), or announce() of its
  // parking spot, and looks at their rings once more.
  void stop() noexcept { watched_.store(0, std::memory_order_relaxed); }
  static void settle() noexcept { Atomics::heavy_fence("H2"); }

 private:
  typename Atomics::template atomic<std::uint32_t> watched_{0};
};

// Whether the producer of one ring sleeps until there is room.
template <class Atomics = std_atomics>
class room_request {
 public:
  // Called by the producer, which then calls announce() of its parking spot and looks for room once more.
  // Relaxed: ordered by the heavy fence in between.
  void want() noexcept { wanted_.store(1, std::memory_order_relaxed); }
  void withdraw() noexcept { wanted_.store(0, std::memory_order_relaxed); }

  // Called by the consumer after giving room. When true, it must wake the producer; afterwards, so
  // that a request made meanwhile is not lost with the one that is taken here.
  [[nodiscard]] bool take_request() noexcept {
    Atomics::light_fence("L3");
    if (wanted_.load(std::memory_order_relaxed) == 0) [[likely]]
      return false;
    wanted_.store(0, std::memory_order_relaxed);
    return true;
  }

 private:
  typename Atomics::template atomic<std::uint32_t> wanted_{0};
};

// One bit for each ring of a consumer, and a summary word that says which words have bits.
template <class Atomics = std_atomics, std::size_t Words = 64>
class announcements {
  static_assert(Words <= 64);

 public:
  static constexpr std::size_t rings_max = Words * 64;

  // Called by the producer of ring `index`.
  void announce(std::size_t index) noexcept {
    bits_[index / 64].fetch_or(std::uint64_t{1} << index % 64, Atomics::release("R3"));
    summary_.fetch_or(std::uint64_t{1} << index / 64, std::memory_order_release);
  }

  // Called by the consumer. Relaxed: a hint, or ordered by the heavy fence before it.
  [[nodiscard]] bool any() const noexcept { return summary_.load(std::memory_order_relaxed) != 0; }

  // Called by the consumer: `look(index)` for each announced ring.
  template <class Look>
  void take(const Look& look) noexcept {
    for (std::uint64_t words = summary_.exchange(0, std::memory_order_acquire); words != 0;
         words &= words - 1) {
      const auto word = static_cast<std::size_t>(std::countr_zero(words));
      if (word >= Words) continue;  // Written by a broken process.
      for (std::uint64_t bits = bits_[word].exchange(0, Atomics::acquire("A3")); bits != 0;
           bits &= bits - 1)
        look(word * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
    }
  }

 private:
  alignas(padding_bytes) typename Atomics::template atomic<std::uint64_t> summary_{0};
  std::array<typename Atomics::template atomic<std::uint64_t>, Words> bits_{};
};

}  // namespace weft
