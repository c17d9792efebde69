// The locks for updates of elements in the memory of one rank. They lie among the signs of its process, so whoever reaches the
// memory by loads and stores reaches them, and messages are carried out under them, too. An element has the lock of the block
// in which its first byte lies, counted from the begin of its part: every way to it finds the same one.
//
// A holder does not wait for anything: it has the lock for some nanoseconds, or until the kernel gives it a core again.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/limits.hpp"
#include "rma/element_update.hpp"
#include "sync/word_lock.hpp"

namespace weft::rma {

class element_locks {
 public:
  // Changes `count` elements, which begin at `at`, `offset` bytes behind the begin of their part. `me`: the process, counted
  // from 1. is_gone(holder): whether that process is dead.
  template <class IsGone>
  void change(std::uint32_t me, std::uint64_t offset, std::byte* at, const element_update& what,
              const std::byte* operand, std::byte* old, std::size_t count,
              const IsGone& is_gone) noexcept {
    const std::uint64_t each = what.element_bytes;
    while (count != 0) {
      const std::uint64_t block = offset / block_bytes;
      const std::uint64_t in_block = (block + 1) * block_bytes - offset;
      const std::size_t here = std::min<std::uint64_t>(count, (in_block + each - 1) / each);
      word_lock& lock = locks_[block % locks_.size()].lock;
      if (!lock.try_take(me)) [[unlikely]]
        take_patiently(lock, me, is_gone);
      if (old != nullptr) {
        std::memcpy(old, at, here * each);
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

 private:
  static constexpr std::uint64_t block_bytes = 256;
  static constexpr std::size_t locks_max = 64;
  struct alignas(cache_line) line {
    word_lock lock;
  };

  template <class IsGone>
  [[gnu::noinline]] static void take_patiently(word_lock& lock, std::uint32_t me,
                                               const IsGone& is_gone) noexcept {
    for (unsigned round = 0; !lock.try_take(me); ++round) {
      if (!rest(round)) continue;
      const std::uint32_t holder = lock.holder();
      if (holder != word_lock::nobody && holder != me && is_gone(holder) &&
          lock.try_take(me, holder))
        return;
    }
  }
  // Rests longer in later rounds, in which the holder has no core. Returns whether it has taken so long that the holder may be
  // dead.
  static bool rest(unsigned round) noexcept;

  std::array<line, locks_max> locks_;
};

}  // namespace weft::rma
