// Where completion objects keep events by value. Templates on the value and on Atomics for the
// model checker.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/limits.hpp"
#include "sync/atomics.hpp"

namespace weft::comm {

// A group of n values: any threads put, one learns that all are there.
//
//   R1 put: fetch_add present_  -- A1 is_complete: load present_   all values are seen
//
// Each put writes the place that its reservation counted for it. The additions to present_ form one
// release sequence, so whoever reads n sees what all n writers wrote.
template <class Value, class Atomics = std_atomics>
class event_group {
 public:
  explicit event_group(std::uint32_t threshold) : places_(threshold) {}

  // False when n values are promised already.
  [[nodiscard]] bool reserve() noexcept {
    // Relaxed: only counts; nothing is read or written on the strength of it but the count itself.
    std::uint32_t promised = promised_.load(std::memory_order_relaxed);
    do {
      if (promised == places_.size()) return false;
    } while (!promised_.compare_exchange_weak(promised, promised + 1, std::memory_order_relaxed,
                                              std::memory_order_relaxed));
    return true;
  }
  void cancel() noexcept { promised_.fetch_sub(1, std::memory_order_relaxed); }

  // After reserve().
  void put(const Value& value) noexcept {
    // Relaxed: gives each putter a place of its own; present_ publishes it.
    places_[taken_.fetch_add(1, std::memory_order_relaxed)].set(value);
    present_.fetch_add(1, Atomics::release("R1"));
  }
  [[nodiscard]] bool is_complete() const noexcept {
    return present_.load(Atomics::acquire("A1")) == places_.size();
  }
  // After is_complete().
  [[nodiscard]] const Value& value(std::size_t index) const noexcept {
    return places_[index].get();
  }
  [[nodiscard]] std::span<const Value> values() const noexcept
      requires(sizeof(typename Atomics::template plain<Value>) == sizeof(Value)) {
    return {reinterpret_cast<const Value*>(places_.data()), places_.size()};
  }
  // By one thread, after is_complete().
  void reset() noexcept {
    // Relaxed: whoever posts next is told by this thread.
    taken_.store(0, std::memory_order_relaxed);
    present_.store(0, std::memory_order_relaxed);
    promised_.store(0, std::memory_order_relaxed);
  }

 private:
  std::vector<typename Atomics::template plain<Value>> places_;
  typename Atomics::template atomic<std::uint32_t> promised_{0};
  typename Atomics::template atomic<std::uint32_t> taken_{0};
  typename Atomics::template atomic<std::uint32_t> present_{0};
};

// A bounded queue: any threads push and pop; a push never fails, since its place was reserved.
//
//   R1 push: store turn     -- A1 try_pop: load turn       the value is seen
//   R2 try_pop: store turn  -- A2 push: load turn          the place may be written again
//
// A place's turn says what it waits for: 2k for the push of lap k, 2k+1 for its pop. A reservation
// is given back only after the pop it made room for, so a pusher finds its place free; it looks all
// the same, to see what the popper did (A2).
template <class Value, class Atomics = std_atomics>
class event_ring {
 public:
  // `capacity` is a power of two.
  explicit event_ring(std::size_t capacity)
      : capacity_(capacity), places_(std::make_unique<place[]>(capacity)) {}

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  [[nodiscard]] bool reserve() noexcept {
    // Relaxed: a count of room; the places' turns order the accesses.
    if (used_.fetch_add(1, std::memory_order_relaxed) < capacity_) [[likely]]
      return true;
    used_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  void cancel() noexcept { used_.fetch_sub(1, std::memory_order_relaxed); }

  // After reserve().
  void push(const Value& value) noexcept {
    const std::uint64_t position = tail_.fetch_add(1, std::memory_order_relaxed);
    place& to = places_[position & (capacity_ - 1)];
    // A reservation was free, but its popper may have read a later place first: then the popper of
    // this one is between its two last steps, and ends without waiting for anybody.
    while (to.turn.load(Atomics::acquire("A2")) != 2 * (position / capacity_)) Atomics::pause();
    to.value.set(value);
    to.turn.store(2 * (position / capacity_) + 1, Atomics::release("R1"));
  }

  // False when there is none.
  [[nodiscard]] bool try_pop(Value& to) noexcept {
    std::uint64_t position = head_.load(std::memory_order_relaxed);
    for (;;) {
      place& from = places_[position & (capacity_ - 1)];
      const std::uint64_t full = 2 * (position / capacity_) + 1;
      const std::uint64_t turn = from.turn.load(Atomics::acquire("A1"));
      if (turn < full) return false;
      if (turn > full) {
        position = head_.load(std::memory_order_relaxed);  // Another one popped it.
        continue;
      }
      // Relaxed: gives one popper the place; its turn ordered the value.
      if (!head_.compare_exchange_weak(position, position + 1, std::memory_order_relaxed,
                                       std::memory_order_relaxed))
        continue;
      to = from.value.get();
      from.turn.store(full + 1, Atomics::release("R2"));
      used_.fetch_sub(1, std::memory_order_relaxed);
      return true;
    }
  }

 private:
  struct place {
    typename Atomics::template atomic<std::uint64_t> turn{0};
    typename Atomics::template plain<Value> value;
  };

  const std::size_t capacity_;
  std::unique_ptr<place[]> places_;
  alignas(padding_bytes) typename Atomics::template atomic<std::uint64_t> used_{0};
  alignas(padding_bytes) typename Atomics::template atomic<std::uint64_t> tail_{0};
  alignas(padding_bytes) typename Atomics::template atomic<std::uint64_t> head_{0};
};

}  // namespace weft::comm
