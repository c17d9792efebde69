// The locks for updates of elements in the memory of one rank. They lie among the signs of its process, so whoever reaches the
// memory by loads and stores reaches them, and messages are carried out under them, too. An element has the locks of the block
// in which its first byte lies, counted from the begin of its part: every way to it finds the same ones. Few elements are changed
// block by block, many in rows of blocks (sync/word_locks.hpp).
//
// A holder waits for nothing but blocks that are being changed: it has a lock for some nanoseconds, a microsecond at most, or until
// the kernel gives a holder a core again, or a dead one has been noticed. Who finds a lock taken looks again later and later, so
// under contention one of them changes the same elements several times in a row: they stay in its cache.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "rma/element_update.hpp"
#include "sync/word_locks.hpp"

namespace weft::rma {

class element_locks {
 public:
  // Changes `count` elements, which begin at `at`, `offset` bytes behind the begin of their part. `me`: the process, counted
  // from 1. is_gone(holder): whether that process is dead.
  template <class IsGone>
  void change(std::uint32_t me, std::uint64_t offset, std::byte* at, const element_update& what,
              const std::byte* operand, std::byte* old, std::size_t count,
              const IsGone& is_gone) noexcept {
    const auto patiently = patience_of(me, is_gone);
    const std::uint64_t each = what.element_bytes;
    while (count != 0) {
      const std::uint64_t block = offset / block_bytes;
      const std::uint64_t last = (offset + (count - 1) * each) / block_bytes;
      const std::uint64_t end = std::min(last + 1, locks::end_of_group(block));
      const bool is_row = end - block > single_blocks_max;
      word_lock& lock = is_row ? locks_.take_row(me, block, end - block, patiently)
                               : locks_.take_block(me, block, patiently);
      const std::uint64_t rest = (is_row ? end : block + 1) * block_bytes - offset;
      const std::size_t here = std::min<std::uint64_t>(count, (rest + each - 1) / each);
      if (old != nullptr) {
        copy(old, at, here * each);
        old += here * each;
      }
      what.apply(at, operand, here);
      lock.give();
      count -= here;
      offset += here * each;
      at += here * each;
      operand += here * what.operand_bytes;
    }
  }
  // The same of one element.
  template <class IsGone>
  void change_one(std::uint32_t me, std::uint64_t offset, std::byte* at, const element_update& what,
                  const std::byte* operand, std::byte* old, const IsGone& is_gone) noexcept {
    word_lock& lock = locks_.take_block(me, offset / block_bytes, patience_of(me, is_gone));
    if (old != nullptr) copy(old, at, what.element_bytes);
    what.apply(at, operand, 1);
    lock.give();
  }

 private:
  static constexpr std::uint64_t block_bytes = 256;
  static constexpr std::size_t locks_max = 64;
  static constexpr std::size_t groups_max = 16;
  static constexpr std::size_t group_blocks = 64;
  // Changed one by one: others may change their neighbours meanwhile.
  static constexpr std::uint64_t single_blocks_max = 4;
  using locks = basic_word_locks<locks_max, groups_max, group_blocks>;

  template <class IsGone>
  [[nodiscard]] static auto patience_of(std::uint32_t me, const IsGone& is_gone) noexcept {
    return [me, &is_gone](word_lock& lock) { take_patiently(lock, me, is_gone); };
  }
  // Words without a call.
  static void copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    if (bytes == 8)
      std::memcpy(to, from, 8);
    else if (bytes == 4)
      std::memcpy(to, from, 4);
    else
      std::memcpy(to, from, bytes);
  }
  template <class IsGone>
  [[gnu::noinline]] static void take_patiently(word_lock& lock, std::uint32_t me,
                                               const IsGone& is_gone) noexcept {
    for (unsigned round = 0; !lock.try_take_in_order(me); ++round)
      if (rest(round) && lock.try_take_over_in_order(me, is_gone)) return;
  }
  // Rests longer in later rounds, in which the holder has no core. Returns whether it has taken so long that the holder may be
  // dead.
  static bool rest(unsigned round) noexcept;

  locks locks_;
};

}  // namespace weft::rma
