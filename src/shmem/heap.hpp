// Blocks of a symmetric heap. Every PE has one and is asked for the same blocks in the same order,
// so the same offsets come out everywhere. What it knows lies outside of the heap, where no program overwrites it.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace weft::shmem {

class heap_blocks {
 public:
  // Every block begins at such an offset, at least.
  static constexpr std::size_t alignment_min = 64;

  explicit heap_blocks(std::size_t bytes);

  // The offset of a new block: the smallest gap that holds it. Alignment is a power of two; nothing when no
  // gap is large enough.
  [[nodiscard]] std::optional<std::size_t> take(std::size_t bytes, std::size_t alignment);
  // The size with which the block at this offset was taken; nothing when there is none.
  [[nodiscard]] std::optional<std::size_t> size_at(std::size_t offset) const;
  // Gives the block at this offset another size, in its place if it may, and returns where it lies then; nothing when no gap
  // is large enough even with its own bytes, and then it stays as it is. It may overlap with where it was: what it holds is moved
  // there at once.
  [[nodiscard]] std::optional<std::size_t> resize(std::size_t offset, std::size_t bytes);
  // False when there is no such block.
  bool give_back(std::size_t offset);
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t taken_bytes() const noexcept { return taken_bytes_; }
  [[nodiscard]] std::size_t largest_gap() const noexcept;
  // Up to there blocks have lain.
  [[nodiscard]] std::size_t highest_end() const noexcept { return highest_end_; }

 private:
  void place(std::size_t gap, std::size_t gap_bytes, std::size_t offset, std::size_t bytes,
             std::size_t needed);
  void add_gap(std::size_t offset, std::size_t bytes);
  void remove_gap(std::map<std::size_t, std::size_t>::iterator gap);

  struct block {
    std::size_t asked_for;
    std::size_t bytes;
  };
  const std::size_t bytes_;
  std::size_t taken_bytes_ = 0;
  std::size_t highest_end_ = 0;
  std::map<std::size_t, block> blocks_;
  std::map<std::size_t, std::size_t> gaps_;                // The key is the offset.
  std::set<std::pair<std::size_t, std::size_t>> by_size_;  // Size, offset.
};

}  // namespace weft::shmem
