// The partitions of a message that one process both sends and receives: who copies each. The message goes again and again, in
// rounds 1, 2, ..., each of which both sides begin when they like. A partition is copied by the thread that makes it ready
// where the receiver has begun the round, and by the receiver, when it begins, where not. So in the usual case making one ready
// is a copy, a store and a decrement, and asking whether one has arrived is a load.
//
//   R1 arrive:            store state          -- A1 has_arrived: load state      the receiver sees the partition
//   S3 begin_receiving:   store receiving_     -- A2 mark:        load receiving_ the copier sees that the memory is free
//   R3 arrive:            fetch_sub left_      -- A3 arrive:      fetch_sub left_ who copies the last sees all others
//                                              -- A4 all_arrived: load left_      and so does who asks for it
//   S1 mark:  store state, S2 load receiving_  -- S3 store receiving_, S4 take: load state
//             at least one of the two sees the other: no partition is left behind. Who of both copies decides a
//             compare_exchange.
//
// A side begins a round when its part in the round before has ended, of which who copies the last partition tells both.
// tests/model/partition_board_model.cpp runs it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "sync/atomics.hpp"

namespace weft {

enum class partition_turn : std::uint8_t {
  copy,   // The caller copies the partition and calls arrive().
  left,   // The receiver will.
  twice,  // It was ready already.
};

template <class Atomics = std_atomics>
class partition_board {
 public:
  explicit partition_board(std::size_t partitions)
      : count_(partitions), states_(std::make_unique<state[]>(partitions)) {}

  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  // Called by the sender, before any partition of the round is ready.
  // Relaxed: who counts down has seen a partition that was ready after this.
  void begin_sending() noexcept {
    left_.store(static_cast<std::int64_t>(count_), std::memory_order_relaxed);
  }

  // Called by the sender's threads: partition `p` is ready in `round`.
  [[nodiscard]] partition_turn mark(std::size_t p, std::uint32_t round) noexcept {
    state& s = states_[p];
    // Relaxed: of two threads that make one partition ready one may be missed, which is an error of the program.
    if (is_past(s.load(std::memory_order_relaxed), first_of(round))) return partition_turn::twice;
    if (receiving_.load(Atomics::acquire("A2")) == round) return partition_turn::copy;
    s.store(ready_in(round), Atomics::seq_cst("S1"));
    if (receiving_.load(Atomics::seq_cst("S2")) != round) return partition_turn::left;
    return claim(s, round) ? partition_turn::copy : partition_turn::left;
  }

  // Called by the receiver: its memory is free for this round. It calls take() for every partition then.
  void begin_receiving(std::uint32_t round) noexcept {
    receiving_.store(round, Atomics::seq_cst("S3"));
  }
  // True: the caller copies the partition and calls arrive().
  [[nodiscard]] bool take(std::size_t p, std::uint32_t round) noexcept {
    state& s = states_[p];
    return s.load(Atomics::seq_cst("S4")) == ready_in(round) && claim(s, round);
  }

  // Called by who has copied the partition. True for the last of the round, which ends for both sides then.
  [[nodiscard]] bool arrive(std::size_t p, std::uint32_t round) noexcept {
    states_[p].store(arrived_in(round), Atomics::release("R1"));
    return left_.fetch_sub(1, Atomics::acq_rel("A3", "R3")) == 1;
  }

  // Called by any thread: whether all have arrived. When true, the caller sees what those who copied did.
  [[nodiscard]] bool all_arrived() const noexcept {
    return left_.load(Atomics::acquire("A4")) == 0;
  }

  // Called by the receiver's threads in `round`, also when the sender is further.
  [[nodiscard]] bool has_arrived(std::size_t p, std::uint32_t round) const noexcept {
    return !is_past(arrived_in(round), states_[p].load(Atomics::acquire("A1")));
  }

 private:
  using state = typename Atomics::template atomic<std::uint32_t>;
  // States of a partition, in the order of time: of each round three.
  static constexpr std::uint32_t first_of(std::uint32_t round) noexcept { return 4 * round; }
  static constexpr std::uint32_t ready_in(std::uint32_t round) noexcept { return 4 * round + 1; }
  static constexpr std::uint32_t claimed_in(std::uint32_t round) noexcept { return 4 * round + 2; }
  static constexpr std::uint32_t arrived_in(std::uint32_t round) noexcept { return 4 * round + 3; }
  // Whether `one` comes after `other`. The numbers wrap.
  static constexpr bool is_past(std::uint32_t one, std::uint32_t other) noexcept {
    return static_cast<std::int32_t>(one - other) > 0;
  }
  // Relaxed: what the claimer reads and writes then it has seen by the loads before.
  static bool claim(state& s, std::uint32_t round) noexcept {
    std::uint32_t expected = ready_in(round);
    return s.compare_exchange_strong(expected, claimed_in(round), std::memory_order_relaxed,
                                     std::memory_order_relaxed);
  }

  const std::size_t count_;
  const std::unique_ptr<state[]> states_;
  alignas(padding_bytes) typename Atomics::template atomic<std::uint32_t> receiving_{0};
  alignas(padding_bytes) typename Atomics::template atomic<std::int64_t> left_{0};
};

}  // namespace weft
