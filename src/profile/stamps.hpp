// What ranks leave for those who wait for them: when they sent, or came to a collective, and from where. Tables in memory
// that all processes of a job map; they forget.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/limits.hpp"
#include "profile/accounts.hpp"
#include "trace/mixing.hpp"

namespace weft::profile {

struct stamp {
  std::uint64_t time = 0;
  std::uint64_t critical = 0;
  std::int32_t rank = no_rank;
  std::int32_t site = -1;
};
constexpr std::uint64_t packed(int rank, int site) noexcept {
  return std::uint64_t{static_cast<std::uint32_t>(rank)} << 32 | static_cast<std::uint32_t>(site);
}

// Any rank may write a slot that another one reads: a check word over the others tells whether they
// belong together, so that no access need be ordered. All are relaxed for that reason.
struct stamp_slot {
  std::atomic<std::uint64_t> check, time, who, critical;

  static std::uint64_t check_of(std::uint64_t key, std::uint64_t time, std::uint64_t who,
                                std::uint64_t critical) noexcept {
    return mixed(key, time, who, critical);
  }
  void put(std::uint64_t key, const stamp& s) noexcept {
    const std::uint64_t by = packed(s.rank, s.site);
    check.store(check_of(key, s.time, by, s.critical), std::memory_order_relaxed);
    time.store(s.time, std::memory_order_relaxed);
    who.store(by, std::memory_order_relaxed);
    critical.store(s.critical, std::memory_order_relaxed);
  }
  bool get(std::uint64_t key, stamp& s) const noexcept {
    s.time = time.load(std::memory_order_relaxed);
    s.critical = critical.load(std::memory_order_relaxed);
    const std::uint64_t by = who.load(std::memory_order_relaxed);
    s.rank = static_cast<std::int32_t>(by >> 32);
    s.site = static_cast<std::int32_t>(by);
    return check.load(std::memory_order_relaxed) == check_of(key, s.time, by, s.critical);
  }
};

// A slot of one collective: the rank that comes last to it knows that from the count. Another one may have taken the slot over, as a tag in
// either word says: then nobody knows that he is the last, and the cause is not known. Relaxed: the collective itself
// orders what its ranks did before against what they read after it.
struct meeting_slot {
  std::atomic<std::uint64_t> arrivals;  // 40 bits of the key, 24 of a count.
  std::atomic<std::uint64_t>
      longest;  // 16 bits of the key, 48 of the longest chain, in units of 16 ticks.

  static constexpr int count_bits = 24, chain_bits = 48, chain_unit_bits = 4;
  static_assert(ranks_max < 1 << count_bits);

  // How many have come to the collective of this key, the caller among them.
  std::uint64_t arrive(std::uint64_t key) noexcept {
    const std::uint64_t tag = key >> count_bits << count_bits;
    std::uint64_t has = arrivals.load(std::memory_order_relaxed), next = 0;
    do next = (has ^ tag) >> count_bits == 0 ? has + 1 : tag | 1;
    while (!arrivals.compare_exchange_weak(has, next, std::memory_order_relaxed));
    return next ^ tag;
  }
  void raise_chain(std::uint64_t key, std::uint64_t chain) noexcept {
    const std::uint64_t next = key >> chain_bits << chain_bits | chain >> chain_unit_bits;
    std::uint64_t has = longest.load(std::memory_order_relaxed);
    while ((has >> chain_bits != next >> chain_bits || has < next) &&
           !longest.compare_exchange_weak(has, next, std::memory_order_relaxed)) {
    }
  }
  // 0: not known.
  [[nodiscard]] std::uint64_t chain(std::uint64_t key) const noexcept {
    const std::uint64_t has = longest.load(std::memory_order_relaxed);
    if (has >> chain_bits != key >> chain_bits) return 0;
    return (has & ((std::uint64_t{1} << chain_bits) - 1)) << chain_unit_bits;
  }
};

inline constexpr std::size_t stamps_count = std::size_t{1} << 16;
inline constexpr std::size_t meetings_count = std::size_t{1} << 15;
inline constexpr std::size_t tables_bytes =
    stamps_count * sizeof(stamp_slot) + meetings_count * sizeof(meeting_slot);

}  // namespace weft::profile
