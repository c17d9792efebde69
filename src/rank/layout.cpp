// From what a program says about its arrays to runs of blocks.
#include "weft/layout.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "sync/published.hpp"
#include "weft/error.hpp"

namespace weft::detail {
namespace {

struct counted_run_list : run_list {
  explicit counted_run_list(std::vector<block_run> listed) noexcept : run_list{std::move(listed)} {
    owners.expect(1);
  }
  mutable join_count<> owners;
};

// Rows that follow one another without a gap are one longer row.
void join(block_run& r) noexcept {
  if (r.inner.count == 1) r.inner = std::exchange(r.middle, {});
  while (r.inner.count > 1 && r.inner.stride == static_cast<std::ptrdiff_t>(r.block)) {
    r.block *= r.inner.count;
    r.inner = std::exchange(r.middle, {});
  }
}

bool is_one_block(const block_run& r) noexcept {
  return r.inner.count == 1 && r.middle.count == 1;
}

// Spreads repetitions of a run over its free dimensions; false when it has none.
bool repeat_run(block_run& r, const repeat& all) noexcept {
  if (r.middle.count != 1) return false;
  (r.inner.count == 1 ? r.inner : r.middle) = all;
  join(r);
  return true;
}

std::uintptr_t moved(std::uintptr_t from, std::ptrdiff_t by) noexcept {
  return from + static_cast<std::uintptr_t>(by);
}

}  // namespace

void add_owner(const run_list& of) noexcept {
  static_cast<const counted_run_list&>(of).owners.expect_another();
}
void remove_owner(const run_list& of) noexcept {
  const auto& list = static_cast<const counted_run_list&>(of);
  if (list.owners.arrive() == 0) delete &list;
}

segments::segments(const void* base, repeat all, std::vector<block_run> runs)
    : base_(reinterpret_cast<std::uintptr_t>(base)), all_(all) {
  std::size_t kept = 0;
  for (block_run& r : runs) {
    if (r.bytes() == 0 || all.count == 0) continue;
    join(r);
    block_run* last = kept == 0 ? nullptr : &runs[kept - 1];
    if (last != nullptr && is_one_block(*last) && is_one_block(r) &&
        last->offset + static_cast<std::ptrdiff_t>(last->block) == r.offset) {
      last->block += r.block;
    } else {
      runs[kept++] = r;
    }
  }
  runs.resize(kept);
  if (kept == 0) {
    all_ = {};
    return;
  }
  if (kept == 1 && all_.count > 1 && repeat_run(runs[0], all_)) all_ = {};
  for (block_run& r : runs) {
    r.before = period_;
    period_ += r.bytes();
  }
  size_ = period_ * all_.count;
  if (kept == 1)
    only_ = runs[0];
  else
    list_ = shared_handle<const run_list>(new counted_run_list(std::move(runs)));
}

segments segments::placed(const void* base, repeat all) const {
  const auto shift = reinterpret_cast<std::uintptr_t>(base);
  segments result = *this;
  result.base_ = moved(base_, static_cast<std::ptrdiff_t>(shift));
  if (all.count == 1 || size_ == 0) return result;
  if (all.count == 0) return segments();
  if (all_.count == 1) {
    if (list_ == nullptr && repeat_run(result.only_, all))
      result.period_ = result.only_.bytes();
    else
      result.all_ = all;
  } else if (all.stride == static_cast<std::ptrdiff_t>(all_.count) * all_.stride) {
    result.all_.count = all_.count * all.count;
  } else {
    std::vector<block_run> runs;
    append(runs, *this);  // With its own base, and so relative to the new one.
    return segments(base, all, std::move(runs));
  }
  result.size_ = size_ * all.count;
  return result;
}

// The base of what is appended to is 0: offsets are addresses.
void append(std::vector<block_run>& to, const segments& more) {
  if (more.size() == 0) return;
  for (std::size_t i = 0; i < more.all().count; ++i)
    for (block_run r : more.runs()) {
      const auto pass = static_cast<std::ptrdiff_t>(i) * more.all().stride;
      r.offset = static_cast<std::ptrdiff_t>(moved(more.base(), pass + r.offset));
      to.push_back(r);
    }
}

void wrong_block(std::size_t first, std::size_t count, std::size_t size) {
  throw error("indexed with a block of " + std::to_string(count) + " elements from element " +
              std::to_string(first) + ": the range has " + std::to_string(size) + " elements");
}

segments strided_segments(const void* base, std::size_t size, std::size_t element_bytes,
                          std::size_t first, std::size_t block, std::size_t stride,
                          std::size_t count) {
  if (count == 0 || block == 0) return {};
  if (count > 1 && stride < block)
    throw error("strided with stride " + std::to_string(stride) + " and blocks of " +
                std::to_string(block) + " elements: blocks must not overlap");
  // Written so that no product can wrap.
  if (first > size || block > size - first ||
      (count > 1 && (size - first - block) / stride < count - 1))
    throw error("strided with " + std::to_string(count) + " blocks of " + std::to_string(block) +
                " at stride " + std::to_string(stride) + " from element " + std::to_string(first) +
                ": the range has " + std::to_string(size) + " elements");
  return segments(base, {},
                  {{static_cast<std::ptrdiff_t>(first * element_bytes),
                    block * element_bytes,
                    {count, static_cast<std::ptrdiff_t>(stride * element_bytes)}}});
}

segments sub_array_segments(const void* base, std::size_t size, std::size_t element_bytes,
                            std::span<const std::size_t> shape, std::span<const std::size_t> first,
                            std::span<const std::size_t> count) {
  std::size_t elements = 1;
  for (const std::size_t extent : shape) {
    if (extent != 0 && elements > size / extent)
      throw error("sub_array of an array that is larger than its range of " + std::to_string(size) +
                  " elements");
    elements *= extent;
  }
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (first[d] > shape[d] || count[d] > shape[d] - first[d])
      throw error("sub_array with " + std::to_string(count[d]) + " elements from element " +
                  std::to_string(first[d]) + " of dimension " + std::to_string(d) + ": it has " +
                  std::to_string(shape[d]));
  // From the last dimension, whose elements lie in a row, to the first.
  repeat dimensions[4];
  std::size_t offset = 0;
  std::size_t stride = element_bytes;
  for (std::size_t d = shape.size(); d-- > 0;) {
    offset += first[d] * stride;
    dimensions[shape.size() - 1 - d] = {count[d], static_cast<std::ptrdiff_t>(stride)};
    stride *= shape[d];
  }
  return segments(base, dimensions[3],
                  {{static_cast<std::ptrdiff_t>(offset), dimensions[0].count * element_bytes,
                    dimensions[1], dimensions[2]}});
}

}  // namespace weft::detail
