// The partitions of a message that one process both sends and receives: which are ready, who copies them, which have arrived.
// The message goes again and again, in rounds 1, 2, ..., each of which both sides begin when they like.
//
// A partition is a bit in three words: ready, claimed, arrived. Each round turns every bit once, so no word is cleared. Making one
// ready is one compare_exchange in a line that only the sender's threads write; asking whether one has arrived is a load. Whoever
// claims bits copies these partitions, all that are ready in a word together:
//   - the sender's thread that completes a group of partitions, where the receiver has begun the round
//   - the receiver, when it begins, and when it asks for a partition that has not arrived: both sides may have missed each other
//   - the sender's thread that completes the last group: everything that is left, where the receiver has begun
//
//   R1 mark:  turn ready           -- A1 take:         load ready       the copier sees what was written to the partition
//   S3 begin_receiving: receiving_ -- A2 complete_group: load receiving_ the copier sees that the memory is free
//   R3 settle: fetch_sub left_     -- A3 settle: fetch_sub left_        who settles the last sees all copies
//                                  -- A4 all_settled:  load left_       and so does who asks for it
//   R4 take:  turn arrived         -- A5 have_arrived: load arrived     the receiver sees the partition
//   R5 complete_group: fetch_sub open_ -- A6 the same                   who completes the last group sees all that is ready
//   S1 complete_group: store all_ready_, S2 load receiving_  -- S3 store receiving_, S4 load all_ready_
//             at least one of the two sees the other, and takes all that is ready: no partition is left behind
//
// A round ends when all partitions have arrived and the last group has been settled by who has completed it. Every thread of
// the sender has counted its group before, or has turned a bit of a group that another counts, and touches nothing
// afterwards. So the board may be destroyed as soon as both sides know of the end, though a mark() has not returned.
//
// A side begins a round when its part in the round before has ended, of which who settles the last tells both.
// tests/model/partition_board_model.cpp runs it.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/assert.hpp"
#include "sync/atomics.hpp"

namespace weft {

enum class partition_turn : std::uint8_t {
  group_open,      // Others complete the group.
  group_complete,  // The caller calls complete_group().
  twice,           // The partition was ready already.
};

// `WordParts`: partitions in a word, 64 but in tests.
template <class Atomics = std_atomics, std::size_t WordParts = 64>
class partition_board {
  static_assert(std::has_single_bit(WordParts) && WordParts <= 64);

 public:
  using bits = std::uint64_t;

  // `together`: how many partitions that follow one another make a group; a power of two, WordParts at most.
  partition_board(std::size_t partitions, std::size_t together)
      : count_(partitions),
        words_((partitions + WordParts - 1) / WordParts),
        group_(all_bits >> (WordParts - together)),
        together_(together),
        ready_(std::make_unique<ready_line[]>((words_ + line_words - 1) / line_words)),
        taken_(std::make_unique<taken_line[]>((words_ + line_words - 1) / line_words)) {
    WEFT_ASSERT(partitions != 0);
    WEFT_ASSERT(std::has_single_bit(together));
    WEFT_ASSERT(together <= WordParts);
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  // Called by the sender, before any partition of the round is ready.
  // Relaxed: who counts down has seen a partition that was ready after this.
  void begin_sending() noexcept {
    open_.store((count_ + together_ - 1) / together_, std::memory_order_relaxed);
    left_.store(count_ + 1,
                std::memory_order_relaxed);  // And one for who completes the last group.
  }

  // Called by the sender's threads: partition `p` is ready in `round`. After `group_complete` the caller calls complete_group(),
  // else it touches the board no more.
  [[nodiscard]] partition_turn mark(std::size_t p, std::uint32_t round) noexcept {
    auto& ready = ready_of(p / WordParts);
    const bits one = bits{1} << (p % WordParts);
    const bits group = group_of(p);
    // Relaxed: the compare_exchange looks again.
    bits before = ready.load(std::memory_order_relaxed);
    do {
      if ((turned(before, round) & one) != 0) return partition_turn::twice;
    } while (!ready.compare_exchange_weak(before, before ^ one, Atomics::release("R1"),
                                          std::memory_order_relaxed));
    // From here on the board may be gone, unless the group is this thread's to count.
    return (turned(before ^ one, round) & group) == group ? partition_turn::group_complete
                                                          : partition_turn::group_open;
  }
  // Called by the sender's threads. Relaxed: it only says whether it pays to ask for the receiver's memory.
  [[nodiscard]] bool seems_receiving(std::uint32_t round) const noexcept {
    return receiving_.load(std::memory_order_relaxed) == round;
  }
  // `copy(first, which)` copies the partitions first + b for the bits b of `which`. True: the round has ended, and the caller
  // tells both sides.
  template <class Copy>
  [[nodiscard]] bool complete_group(std::size_t p, std::uint32_t round, const Copy& copy) {
    if (receiving_.load(Atomics::acquire("A2")) == round) (void)take(p / WordParts, round, copy);
    if (open_.fetch_sub(1, Atomics::acq_rel("A6", "R5")) != 1) return false;
    all_ready_.store(round, Atomics::seq_cst("S1"));
    if (receiving_.load(Atomics::seq_cst("S2")) == round) (void)take_all(round, copy);
    return settle(1);
  }

  // Called by the receiver: its memory is free for this round. True: the round has ended, and the caller tells both sides.
  template <class Copy>
  [[nodiscard]] bool begin_receiving(std::uint32_t round, const Copy& copy) {
    receiving_.store(round, Atomics::seq_cst("S3"));
    (void)all_ready_.load(Atomics::seq_cst("S4"));  // For its order alone.
    return take_all(round, copy);
  }

  // Called by the receiver's threads in `round`: copies what is ready and near the partitions first ... last. True: the round has
  // ended, and the caller tells both sides.
  template <class Copy>
  [[nodiscard]] bool take_ready(std::size_t first, std::size_t last, std::uint32_t round,
                                const Copy& copy) {
    return take_words(first / WordParts, last / WordParts, round, copy);
  }

  // Called by any thread: whether the round has ended. When true, the caller sees what those who copied did.
  [[nodiscard]] bool all_settled() const noexcept {
    return left_.load(Atomics::acquire("A4")) == 0;
  }

  // Called by the receiver's threads in `round`, also when the sender is further: whether partition `p` has arrived.
  [[nodiscard]] bool has_arrived(std::size_t p, std::uint32_t round) const noexcept {
    const bits arrived = taken_of(p / WordParts).arrived.load(Atomics::acquire("A5"));
    return (turned(arrived, round) >> (p % WordParts) & 1) != 0;
  }
  // The same of the partitions first ... last.
  [[nodiscard]] bool have_arrived(std::size_t first, std::size_t last,
                                  std::uint32_t round) const noexcept {
    for (std::size_t i = first / WordParts; i <= last / WordParts; ++i) {
      bits wanted = all_bits;
      if (i == first / WordParts) wanted &= all_bits << (first % WordParts);
      if (i == last / WordParts) wanted &= all_bits >> (WordParts - 1 - last % WordParts);
      const bits arrived = turned(taken_of(i).arrived.load(Atomics::acquire("A5")), round);
      if ((arrived & wanted) != wanted) return false;
    }
    return true;
  }

 private:
  using word = typename Atomics::template atomic<bits>;
  static constexpr std::size_t line_words = padding_bytes / sizeof(bits) / 2;
  static constexpr bits all_bits = ~bits{0} >> (64 - WordParts);
  struct alignas(padding_bytes) ready_line {
    word words[line_words];
  };
  struct taken_word {
    word claimed{0};
    word arrived{0};
  };
  struct alignas(padding_bytes) taken_line {
    taken_word words[line_words];
  };

  // The bits that have been turned in `round`.
  static constexpr bits turned(bits word, std::uint32_t round) noexcept {
    return (round % 2 != 0 ? word : ~word) & all_bits;
  }
  [[nodiscard]] word& ready_of(std::size_t i) const noexcept {
    return ready_[i / line_words].words[i % line_words];
  }
  [[nodiscard]] taken_word& taken_of(std::size_t i) const noexcept {
    return taken_[i / line_words].words[i % line_words];
  }
  // The bits of word `i` that have a partition.
  [[nodiscard]] bits used(std::size_t i) const noexcept {
    return i + 1 != words_ ? all_bits : all_bits >> (words_ * WordParts - count_);
  }
  [[nodiscard]] bits group_of(std::size_t p) const noexcept {
    const std::size_t first = p % WordParts & ~(together_ - 1);
    return group_ << first & used(p / WordParts);
  }

  // Copies all that is ready in word `i`. True: the round has ended.
  template <class Copy>
  bool take(std::size_t i, std::uint32_t round, const Copy& copy) {
    const bits ready = turned(ready_of(i).load(Atomics::acquire("A1")), round) & used(i);
    taken_word& w = taken_of(i);
    // Relaxed: what the claimer reads and writes then it has seen by the loads before.
    bits claimed = w.claimed.load(std::memory_order_relaxed);
    bits own = 0;
    do {
      own = ready & ~turned(claimed, round);
      if (own == 0) return false;
    } while (!w.claimed.compare_exchange_weak(claimed, claimed ^ own, std::memory_order_relaxed,
                                              std::memory_order_relaxed));
    copy(i * WordParts, own);
    w.arrived.fetch_xor(own, Atomics::release("R4"));
    return settle(static_cast<std::size_t>(std::popcount(own)));
  }
  template <class Copy>
  bool take_words(std::size_t first, std::size_t last, std::uint32_t round, const Copy& copy) {
    for (std::size_t i = first; i <= last; ++i)
      if (take(i, round, copy)) return true;
    return false;
  }
  template <class Copy>
  bool take_all(std::uint32_t round, const Copy& copy) {
    return take_words(0, words_ - 1, round, copy);
  }
  [[nodiscard]] bool settle(std::size_t count) noexcept {
    return left_.fetch_sub(count, Atomics::acq_rel("A3", "R3")) == count;
  }

  const std::size_t count_;
  const std::size_t words_;
  const bits group_;  // The first group of a word.
  const std::size_t together_;
  const std::unique_ptr<ready_line[]> ready_;
  const std::unique_ptr<taken_line[]> taken_;
  // Written by the sender's threads.
  alignas(padding_bytes) typename Atomics::template atomic<std::size_t> open_{0};  // Groups.
  typename Atomics::template atomic<std::uint32_t> all_ready_{0};
  // Written by the receiver.
  alignas(padding_bytes) typename Atomics::template atomic<std::uint32_t> receiving_{0};
  // Written by who copies.
  alignas(padding_bytes) typename Atomics::template atomic<std::size_t> left_{0};
};

}  // namespace weft
