// Locks for blocks of memory that processes share, each block by itself or a row of them at once. Blocks are numbered; each has
// one of `Locks`, and `GroupBlocks` that follow one another have one group's lock. Memory of zeros is locks that nobody has.
//
// Whoever wants one block takes its lock and then looks at its group's. Whoever wants a row takes its group's lock and then waits
// until those of the blocks are free; it takes none of them, so a row of any length costs one update of a word. At least one of
// two that want the same block sees the other (word_lock.hpp, S1 and S2), and it is the one with the block's lock that steps
// back: it gives it and takes the group's. So nobody waits with a block's lock, and only for blocks' locks with a group's.
//
// Who takes the lock of a holder that is dead goes on as with one that was free: a group's lock still waits for those of its
// blocks, and a block's for its group's. So it does not matter at which of these steps the holder has died.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/limits.hpp"
#include "sync/word_lock.hpp"

namespace weft {

template <std::size_t Locks, std::size_t Groups, std::size_t GroupBlocks,
          class Atomics = std_atomics>
class basic_word_locks {
 public:
  using lock = basic_word_lock<Atomics>;

  // Both return the lock that the caller gives at the end. `me` is not 0. patiently(lock) takes one that somebody has, by
  // try_take_in_order(), or try_take_over_in_order().
  template <class Patiently>
  [[nodiscard]] lock& take_block(std::uint32_t me, std::uint64_t block,
                                 const Patiently& patiently) noexcept {
    lock& own = of_block(block);
    if (!own.try_take_in_order(me)) [[unlikely]]
      patiently(own);
    if (of_group(block).holder_in_order() == lock::nobody) [[likely]]
      return own;
    own.give();
    return take_row(me, block, 1, patiently);
  }
  // The blocks are all of one group.
  template <class Patiently>
  [[nodiscard]] lock& take_row(std::uint32_t me, std::uint64_t first, std::size_t count,
                               const Patiently& patiently) noexcept {
    lock& group = of_group(first);
    if (!group.try_take_in_order(me)) [[unlikely]]
      patiently(group);
    for (std::uint64_t block = first; block < first + std::min(count, Locks); ++block) {
      lock& one = of_block(block);
      if (one.holder_in_order() == lock::nobody) [[likely]]
        continue;
      patiently(one);
      one.give();
    }
    return group;
  }
  // The block behind the last of this one's group.
  [[nodiscard]] static std::uint64_t end_of_group(std::uint64_t block) noexcept {
    return (block / GroupBlocks + 1) * GroupBlocks;
  }

 private:
  struct alignas(cache_line) line {
    lock word;
  };
  [[nodiscard]] lock& of_block(std::uint64_t block) noexcept { return blocks_[block % Locks].word; }
  [[nodiscard]] lock& of_group(std::uint64_t block) noexcept {
    return groups_[block / GroupBlocks % Groups].word;
  }

  std::array<line, Locks> blocks_;
  std::array<line, Groups> groups_;
};

}  // namespace weft
