// What ranks leave for those who wait for them: when they sent, or came to a collective, and from where. Tables in memory
// that all processes of a job map; they forget.
#pragma once
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "trace/accounts.hpp"

namespace weft::accounts {

inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t x = (a ^ std::rotl(b, 29)) * 0x9e37'79b9'7f4a'7c15;
  x ^= x >> 32;
  x *= 0xd6e8'feb8'6659'fd93;
  return x ^ x >> 29;
}

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
    return mixed(key, time) ^ std::rotl(who, 17) ^ std::rotl(critical, 41);
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

// Of one communicator: who comes last to a collective knows it from the count. Counts go on from turn
// to turn of a slot; so do the lengths of chains, which only grow. Relaxed: the collective itself orders
// what its ranks did before against what they read after it.
struct meeting_block {
  static constexpr std::uint64_t turns = 64;
  std::atomic<std::uint64_t> key;
  std::atomic<std::uint64_t> arrivals[turns];
  std::atomic<std::uint64_t> critical[turns];
};

inline constexpr std::size_t stamps_count = std::size_t{1} << 16;
inline constexpr std::size_t meetings_count = 512;
inline constexpr std::size_t tables_bytes =
    stamps_count * sizeof(stamp_slot) + meetings_count * sizeof(meeting_block);

}  // namespace weft::accounts
