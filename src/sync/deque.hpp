// Bounded work-stealing deque (after Chase and Lev): one owner pushes and pops the newest, any
// number of thieves steal the oldest. Each side has its own type, so that a thief cannot push.
//
//   R1 push:  store bottom_  -- S4 steal: load bottom_   the thief sees the slot
//   S1 pop:   store bottom_, then S2 load top_           of an owner and a thief that want the
//   S3 steal: exchange top_, then S4 load bottom_        last two, one sees the other
//
// S1, S2 | S3, S4 is store buffering: were it allowed, a popping owner would miss that top_ had
// passed, and the next thief that bottom_ had come down, and both would take the same value. For
// the very last value both sides exchange top_, and one exchange fails.
//
// Two acquires carry no label, since the checker executes loads and seq_cst operations in program
// order and cannot show what they prevent. They say so where they stand.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "base/limits.hpp"
#include "sync/atomics.hpp"

namespace weft {

template <class T, std::size_t Capacity, class Atomics = std_atomics>
requires std::is_trivially_copyable_v<T> &&(sizeof(T) <= sizeof(void*)) class deque {
  static_assert(std::has_single_bit(Capacity));

 public:
  class owner;  // One per deque.
  class thief;

  // Called by anyone, a hint.
  [[nodiscard]] bool seems_empty() const noexcept {
    return bottom_.load(std::memory_order_relaxed) <= top_.load(std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] auto& slot(std::int64_t index) noexcept {
    return slots_[static_cast<std::size_t>(index) % Capacity];
  }

  // Positions count from the start and never wrap in practice (2^63). Values top_..bottom_-1 are
  // inside.
  alignas(padding_bytes) typename Atomics::template atomic<std::int64_t> bottom_{0};
  alignas(padding_bytes) typename Atomics::template atomic<std::int64_t> top_{0};
  // Atomic, since a thief may read a slot that the owner already fills anew; it then fails to
  // exchange top_ and forgets what it read. Relaxed: bottom_ publishes them.
  alignas(padding_bytes) std::array<typename Atomics::template atomic<T>, Capacity> slots_{};
};

template <class T, std::size_t Capacity, class Atomics>
requires std::is_trivially_copyable_v<T> &&
    (sizeof(T) <= sizeof(void*)) class deque<T, Capacity, Atomics>::owner {
 public:
  explicit owner(deque& of) noexcept : deque_(of) {}
  owner(const owner&) = delete;
  owner& operator=(const owner&) = delete;

  // Returns false when the deque is full.
  [[nodiscard]] bool try_push(T value) noexcept {
    const auto bottom =
        deque_.bottom_.load(std::memory_order_relaxed);  // Only the owner writes it.
    if (bottom - top_seen_ == static_cast<std::int64_t>(Capacity)) {
      // Acquire, not shown by the checker: a thief's read of the slot comes before the slot is
      // filled anew.
      top_seen_ = deque_.top_.load(std::memory_order_acquire);
      if (bottom - top_seen_ == static_cast<std::int64_t>(Capacity)) return false;
    }
    deque_.slot(bottom).store(value, std::memory_order_relaxed);
    deque_.bottom_.store(bottom + 1, Atomics::release("R1"));
    return true;
  }

  // The newest value, or nothing.
  [[nodiscard]] std::optional<T> try_pop() noexcept {
    const auto bottom = deque_.bottom_.load(std::memory_order_relaxed) - 1;
    // Empty without doubt, since top_ never falls: no need to disturb the thieves.
    if (bottom < top_seen_) return std::nullopt;
    deque_.bottom_.store(bottom, Atomics::seq_cst("S1"));
    auto top = top_seen_ = deque_.top_.load(Atomics::seq_cst("S2"));
    if (top < bottom) return deque_.slot(bottom).load(std::memory_order_relaxed);
    std::optional<T> value;
    if (top == bottom) {
      value = deque_.slot(bottom).load(std::memory_order_relaxed);
      // Relaxed: a thief that sees it learns nothing but that it is too late.
      if (!deque_.top_.compare_exchange_strong(top, top + 1, std::memory_order_relaxed,
                                               std::memory_order_relaxed))
        value.reset();
      top_seen_ = bottom + 1;
    }
    // Relaxed: a thief that sees it finds top_ there too.
    deque_.bottom_.store(bottom + 1, std::memory_order_relaxed);
    return value;
  }

 private:
  deque& deque_;
  std::int64_t top_seen_ = 0;  // A copy of top_, never ahead of it.
};

template <class T, std::size_t Capacity, class Atomics>
requires std::is_trivially_copyable_v<T> &&
    (sizeof(T) <= sizeof(void*)) class deque<T, Capacity, Atomics>::thief {
 public:
  explicit thief(deque& from) noexcept : deque_(from) {}

  // The oldest value; nothing when there is none or another was faster.
  [[nodiscard]] std::optional<T> try_steal() noexcept {
    // Acquire, not shown by the checker: bottom_ is loaded after top_, so the exchange S3 that is
    // read here comes before S4.
    auto top = deque_.top_.load(std::memory_order_acquire);
    if (top >= deque_.bottom_.load(Atomics::seq_cst("S4"))) return std::nullopt;
    const T value = deque_.slot(top).load(std::memory_order_relaxed);
    if (!deque_.top_.compare_exchange_strong(top, top + 1, Atomics::seq_cst("S3"),
                                             std::memory_order_relaxed))
      return std::nullopt;
    return value;
  }

 private:
  deque& deque_;
};

}  // namespace weft
