// A region: a part of each rank of a group, which all of the group read, write and update. The parts may differ in size
// and in the unit in which displacements count. Ranks are numbers in the group.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rma/attached_memory.hpp"
#include "rma/shared_parts.hpp"

namespace weft::rma {

class region;

// An operation begins at a location: so many bytes behind the begin of the part of one rank.
struct location {
  const region* in;
  int rank;
  std::uint64_t offset;
};

// What the ranks of one process share of a region. It does not change once the call that makes the region has returned.
struct region_table {
  struct extent {
    std::uint64_t bytes = 0;
    std::uint64_t unit = 1;
    std::uint32_t number = 0;  // Messages name the part by it (exposed_memory.hpp).
    bool operator==(const extent&) const = default;
  };
  // What each rank tells the others while the region is made.
  struct row {
    extent what;
    std::byte* base = nullptr;     // Its own process reaches the part there.
    std::uint64_t in_arena = 0;    // The part lies so far behind the arena's begin; 0: elsewhere.
    std::uint64_t has_failed = 0;  // This rank's process has no room.
    const attached_memory* attached = nullptr;  // In place of a base: what the rank attaches.
  };

  int size = 0;
  // One for each rank; null: loads and stores from this process do not reach the part.
  std::vector<std::byte*> bases;
  // Of a region of attached memory, one for each rank, null where it is of another process; else empty.
  std::vector<const attached_memory*> attached;
  std::vector<int> numbers;             // Each rank's number in the job; empty: all are the same.
  extent common;                        // Holds for every rank, where `extents` is empty.
  std::vector<extent> extents;          // One for each rank.
  std::vector<row> rows;                // While the region is made.
  std::shared_ptr<shared_parts> parts;  // Null: the parts are the program's own memory.
  std::string failure;
  int users = 0;  // Ranks of this process that have not released the region.
};

// A region as one rank has it. The rank's initiator owns it, from the call that makes it to the one that releases it.
class region {
 public:
  region(region_table& table, int rank, std::span<std::byte> own, std::uint32_t number) noexcept
      : bases_(table.bases.data()),
        extents_(table.extents.empty() ? nullptr : table.extents.data()),
        numbers_(table.numbers.empty() ? nullptr : table.numbers.data()),
        common_(table.common),
        table_(table),
        own_(own),
        rank_(rank),
        number_(number) {}
  region(const region&) = delete;
  region& operator=(const region&) = delete;

  [[nodiscard]] int size() const noexcept { return table_.size; }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] std::span<std::byte> own() const noexcept { return own_; }
  [[nodiscard]] const region_table::extent& extent_of(int rank) const noexcept {
    return extents_ == nullptr ? common_ : extents_[rank];
  }
  // Whether all parts have the same size and unit.
  [[nodiscard]] bool is_uniform() const noexcept { return extents_ == nullptr; }
  [[nodiscard]] int number_in_job(int rank) const noexcept {
    return numbers_ == nullptr ? rank : numbers_[rank];
  }
  // One for each rank; null where loads and stores from here do not reach the part.
  [[nodiscard]] std::byte* const* bases() const noexcept { return bases_; }

  // `displacement` counts in the unit of that rank. A location that is beyond all memory lies behind the end.
  [[nodiscard]] location at(int rank, std::uint64_t displacement) const noexcept {
    std::uint64_t offset = 0;
    if (__builtin_mul_overflow(displacement, extent_of(rank).unit, &offset)) [[unlikely]]
      offset = ~std::uint64_t{0};
    return {this, rank, offset};
  }
  [[nodiscard]] bool has(const location& where, std::size_t bytes) const noexcept {
    const std::uint64_t size = extent_of(where.rank).bytes;
    return where.offset < size && bytes <= size - where.offset;
  }
  // Returns where loads and stores from here reach so many bytes; null: they do not, or the part does not have them.
  [[nodiscard, gnu::always_inline]] std::byte* reached(const location& where,
                                                       std::size_t bytes) const noexcept {
    if (!has(where, bytes)) [[unlikely]]
      return nullptr;
    std::byte* const base = bases_[where.rank];
    return base != nullptr ? base + where.offset : nullptr;
  }
  // The same, also for a region of attached memory.
  [[nodiscard, gnu::always_inline]] std::byte* reached_or_attached(
      const location& where, std::size_t bytes) const noexcept {
    std::byte* const at = reached(where, bytes);
    return at != nullptr || table_.attached.empty() ? at : attached(where, bytes);
  }
  // Whether that rank attaches its memory, and lives in this process.
  [[nodiscard]] bool attaches_here(int rank) const noexcept {
    return !table_.attached.empty() && table_.attached[static_cast<std::size_t>(rank)] != nullptr;
  }
  // Every rank that names the word gets this number, and one more for the next byte. Two regions of a rank have different
  // names.
  [[nodiscard]] std::uint64_t name_of(const location& where) const noexcept {
    constexpr int offset_bits = 48;
    constexpr std::uint32_t index_mask = 0xffff;
    return std::uint64_t{extent_of(where.rank).number & index_mask} << offset_bits | where.offset;
  }
  // Large pages may lie there, in memory that allocate() has made.
  void allow_large_pages(std::span<std::byte> pages) const noexcept {
    if (table_.parts != nullptr) table_.parts->own().allow_large_pages(pages);
  }

 private:
  friend class initiator;

  [[nodiscard, gnu::noinline]] std::byte* attached(const location& where,
                                                   std::size_t bytes) const noexcept {
    const attached_memory* const of = table_.attached[static_cast<std::size_t>(where.rank)];
    return of != nullptr ? of->find(where.offset, bytes) : nullptr;
  }

  // Every operation reads these: they lie in the first line.
  std::byte* const* const bases_;
  const region_table::extent* const extents_;  // Null: all are `common_`.
  const int* const numbers_;                   // Null: those of the job.
  const region_table::extent common_;
  region_table& table_;
  const std::span<std::byte> own_;
  const int rank_;
  const std::uint32_t number_;
};

}  // namespace weft::rma
