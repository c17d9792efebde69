// The two simplest ways to hand something to other threads: a value that says "what I wrote before is there", and a
// count of threads that still have to say so.
//
//   R1 publish: store value  -- A1 value: load value       whoever sees the value, or a later one,
//   R2 add:     add to value -- A1 value: load value       sees what was written before it
//   R3 arrive:  lower left   -- A2 arrive: lower left      the last sees what all others did,
//                            -- A3 at_most: load left      and so does whoever waits for it
#pragma once
#include <atomic>
#include <cstdint>

#include "sync/atomics.hpp"

namespace weft {

template <class T, class Atomics = std_atomics>
class published {
 public:
  published() = default;
  explicit published(T first) noexcept : value_(first) {}

  // Called by any thread. Several threads that publish order themselves by a lock of their own.
  void publish(T value) noexcept { value_.store(value, Atomics::release("R1")); }
  // Called by any number of threads.
  void add(T value) noexcept { value_.fetch_add(value, Atomics::release("R2")); }
  // Called by any thread.
  [[nodiscard]] T value() const noexcept { return value_.load(Atomics::acquire("A1")); }

  // The value alone: it orders no other memory.
  [[nodiscard]] T hint() const noexcept { return value_.load(std::memory_order_relaxed); }
  // Called while no other thread looks.
  void reset(T value) noexcept { value_.store(value, std::memory_order_relaxed); }

 private:
  typename Atomics::template atomic<T> value_{};
};

template <class Atomics = std_atomics>
class join_count {
 public:
  // Called while nobody arrives or looks.
  void expect(std::uint64_t count) noexcept { left_.store(count, std::memory_order_relaxed); }
  // Called by a thread that is expected, or before anybody arrives. Relaxed: it orders no other memory.
  void expect_another() noexcept { left_.fetch_add(1, std::memory_order_relaxed); }
  // Called by any thread: one more is expected, unless all have arrived. Relaxed: it orders no other memory.
  [[nodiscard]] bool expect_another_if_any() noexcept {
    std::uint64_t left = left_.load(std::memory_order_relaxed);
    while (left != 0 && !left_.compare_exchange_weak(left, left + 1, std::memory_order_relaxed)) {
    }
    return left != 0;
  }
  // Called once by each thread that is expected. Returns how many are left, 0 for the last.
  std::uint64_t arrive() noexcept { return left_.fetch_sub(1, Atomics::acq_rel("A2", "R3")) - 1; }
  // Called by any thread: whether at most `left` have not arrived. When true, the caller sees what the others did.
  [[nodiscard]] bool at_most(std::uint64_t left) const noexcept {
    return left_.load(Atomics::acquire("A3")) <= left;
  }
  [[nodiscard]] bool all_arrived() const noexcept { return at_most(0); }
  // The number alone: it orders no other memory.
  [[nodiscard]] std::uint64_t left() const noexcept {
    return left_.load(std::memory_order_relaxed);
  }

 private:
  typename Atomics::template atomic<std::uint64_t> left_{0};
};

}  // namespace weft
