#include "shmem/heap.hpp"

#include <algorithm>
#include <iterator>

namespace weft::shmem {
namespace {

std::size_t rounded(std::size_t value, std::size_t alignment) noexcept {
  return (value + alignment - 1) & ~(alignment - 1);
}

std::size_t bytes_needed(std::size_t bytes) noexcept {
  return rounded(std::max<std::size_t>(bytes, 1), heap_blocks::alignment_min);
}

}  // namespace

heap_blocks::heap_blocks(std::size_t bytes) : bytes_(bytes / alignment_min * alignment_min) {
  if (bytes_ != 0) add_gap(0, bytes_);
}

void heap_blocks::add_gap(std::size_t offset, std::size_t bytes) {
  gaps_.emplace(offset, bytes);
  by_size_.emplace(bytes, offset);
}

void heap_blocks::remove_gap(std::map<std::size_t, std::size_t>::iterator gap) {
  by_size_.erase({gap->second, gap->first});
  gaps_.erase(gap);
}

std::optional<std::size_t> heap_blocks::take(std::size_t bytes, std::size_t alignment) {
  alignment = std::max(alignment, alignment_min);
  if (bytes > bytes_) return {};
  const std::size_t needed = bytes_needed(bytes);
  for (auto candidate = by_size_.lower_bound({needed, 0}); candidate != by_size_.end();
       ++candidate) {
    const auto [gap_bytes, gap] = *candidate;
    const std::size_t offset = rounded(gap, alignment);
    if (offset - gap > gap_bytes - needed) continue;
    place(gap, gap_bytes, offset, bytes, needed);
    return offset;
  }
  return {};
}

// A block into a gap that holds it.
void heap_blocks::place(std::size_t gap, std::size_t gap_bytes, std::size_t offset,
                        std::size_t bytes, std::size_t needed) {
  remove_gap(gaps_.find(gap));
  if (offset != gap) add_gap(gap, offset - gap);
  const std::size_t end = offset + needed;
  if (end != gap + gap_bytes) add_gap(end, gap + gap_bytes - end);
  blocks_.emplace(offset, block{bytes, needed});
  taken_bytes_ += needed;
  highest_end_ = std::max(highest_end_, end);
}

std::optional<std::size_t> heap_blocks::resize(std::size_t offset, std::size_t bytes) {
  const auto found = blocks_.find(offset);
  if (found == blocks_.end() || bytes > bytes_) return {};
  const block before = found->second;
  const std::size_t needed = bytes_needed(bytes);
  // Its own bytes and the gap behind it, if there is one.
  const auto behind = gaps_.find(offset + before.bytes);
  const std::size_t room = before.bytes + (behind != gaps_.end() ? behind->second : 0);
  std::optional<std::size_t> elsewhere;
  if (needed > room) elsewhere = take(bytes, alignment_min);
  give_back(offset);
  if (elsewhere) return elsewhere;
  // The gap in which it lay, with those beside it.
  const auto gap = std::prev(gaps_.upper_bound(offset));
  if (needed <= room) {
    place(gap->first, gap->second, offset, bytes, needed);
    return offset;
  }
  if (const auto moved = take(bytes, alignment_min)) return moved;
  place(gap->first, gap->second, offset, before.asked_for, before.bytes);
  return {};
}

std::optional<std::size_t> heap_blocks::size_at(std::size_t offset) const {
  const auto found = blocks_.find(offset);
  return found == blocks_.end() ? std::nullopt : std::optional(found->second.asked_for);
}

bool heap_blocks::give_back(std::size_t offset) {
  const auto found = blocks_.find(offset);
  if (found == blocks_.end()) return false;
  std::size_t begin = offset, bytes = found->second.bytes;
  taken_bytes_ -= bytes;
  blocks_.erase(found);
  if (const auto after = gaps_.find(begin + bytes); after != gaps_.end()) {
    bytes += after->second;
    remove_gap(after);
  }
  if (auto before = gaps_.lower_bound(begin); before != gaps_.begin()) {
    --before;
    if (before->first + before->second == begin) {
      begin = before->first;
      bytes += before->second;
      remove_gap(before);
    }
  }
  add_gap(begin, bytes);
  return true;
}

std::size_t heap_blocks::largest_gap() const noexcept {
  return by_size_.empty() ? 0 : by_size_.rbegin()->first;
}

}  // namespace weft::shmem
