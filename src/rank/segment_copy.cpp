#include "rank/segment_copy.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/limits.hpp"

namespace weft::detail {
namespace {

// A place in a layout.
class cursor {
 public:
  cursor(const segments& s, std::size_t at) noexcept : of_(s), runs_(s.runs()) {
    pass_ = at / s.period();
    at %= s.period();
    run_ = static_cast<std::size_t>(
        std::upper_bound(runs_.begin(), runs_.end(), at,
                         [](std::size_t byte, const block_run& r) { return byte < r.before; }) -
        runs_.begin() - 1);
    const block_run& r = runs_[run_];
    at -= r.before;
    inner_ = at / r.block % r.inner.count;
    middle_ = at / r.block / r.inner.count;
    find_block();
    advance(at % r.block);
  }

  [[nodiscard]] std::byte* at() const noexcept { return reinterpret_cast<std::byte*>(at_); }
  [[nodiscard]] std::size_t left() const noexcept { return left_; }  // Of this block.

  // How many pieces of `bytes` follow from here at one distance, which is `stride()`.
  [[nodiscard]] std::size_t pieces(std::size_t byte_view) const noexcept {
    if (left_ != byte_view) return left_ / byte_view;
    const block_run& r = runs_[run_];
    return byte_view == r.block ? r.inner.count - inner_ : 1;
  }
  [[nodiscard]] std::ptrdiff_t stride(std::size_t byte_view) const noexcept {
    return left_ != byte_view ? static_cast<std::ptrdiff_t>(byte_view) : runs_[run_].inner.stride;
  }
  void skip(std::size_t count, std::size_t byte_view) noexcept {
    if (left_ != byte_view) {
      advance(count * byte_view);
    } else {
      inner_ += count - 1;
      next_block();
    }
  }
  // By at most left().
  void advance(std::size_t byte_view) noexcept {
    at_ += byte_view;
    left_ -= byte_view;
    if (left_ == 0) next_block();
  }

 private:
  void next_block() noexcept {
    const block_run& r = runs_[run_];
    if (++inner_ == r.inner.count) {
      inner_ = 0;
      if (++middle_ == r.middle.count) {
        middle_ = 0;
        if (++run_ == runs_.size()) {
          run_ = 0;
          ++pass_;
        }
      }
    }
    find_block();
  }
  // Past the end this is an address that nobody looks at.
  void find_block() noexcept {
    const block_run& r = runs_[run_];
    at_ = of_.base() + static_cast<std::uintptr_t>(r.offset) +
          pass_ * static_cast<std::uintptr_t>(of_.all().stride) +
          middle_ * static_cast<std::uintptr_t>(r.middle.stride) +
          inner_ * static_cast<std::uintptr_t>(r.inner.stride);
    left_ = r.block;
  }

  const segments& of_;
  const std::span<const block_run> runs_;
  std::size_t pass_ = 0;
  std::size_t run_ = 0;
  std::size_t middle_ = 0;
  std::size_t inner_ = 0;
  std::uintptr_t at_ = 0;
  std::size_t left_ = 0;
};

// `Bytes` is known when compiling for the usual elements: a load and a store instead of a call.
template <std::size_t Bytes>
void copy_pieces(std::byte* to, std::ptrdiff_t to_stride, const std::byte* from,
                 std::ptrdiff_t from_stride, std::size_t byte_view, std::size_t count) noexcept {
  for (;;) {
    std::memcpy(to, from, Bytes != 0 ? Bytes : byte_view);
    if (--count == 0) return;  // No pointer is moved beyond the last piece.
    to += to_stride;
    from += from_stride;
  }
}

void copy_pieces(std::byte* to, std::ptrdiff_t to_stride, const std::byte* from,
                 std::ptrdiff_t from_stride, std::size_t byte_view, std::size_t count) noexcept {
  const auto copy = byte_view == 8    ? &copy_pieces<8>
                    : byte_view == 4  ? &copy_pieces<4>
                    : byte_view == 16 ? &copy_pieces<16>
                    : byte_view == 24 ? &copy_pieces<24>
                                      : &copy_pieces<0>;
  copy(to, to_stride, from, from_stride, byte_view, count);
}

void copy_from_place_to_place(const segments& to, const segments& from, std::size_t begin,
                              std::size_t end) {
  if (begin == end) return;
  cursor target(to, begin);
  cursor source(from, begin);
  for (std::size_t left = end - begin; left != 0;) {
    const std::size_t byte_view = std::min({target.left(), source.left(), left});
    const std::size_t count =
        std::min({target.pieces(byte_view), source.pieces(byte_view), left / byte_view});
    copy_pieces(target.at(), target.stride(byte_view), source.at(), source.stride(byte_view),
                byte_view, count);
    left -= count * byte_view;
    target.skip(count, byte_view);
    source.skip(count, byte_view);
  }
}

// One side of a copy along a repeated list: where block `index` of the list is, pass after pass.
class along_passes {
 public:
  along_passes(const segments& s, const segments& list) noexcept
      : in_a_row_(s.contiguous()), of_(s), list_(list) {}
  [[nodiscard]] std::byte* at(std::size_t pass, std::size_t index) const noexcept {
    const auto passed = static_cast<std::uintptr_t>(pass) * static_cast<std::uintptr_t>(stride());
    if (in_a_row_) return of_.flat().data() + passed + list_.runs()[index].before;
    return reinterpret_cast<std::byte*>(of_.base() + passed +
                                        static_cast<std::uintptr_t>(of_.runs()[index].offset));
  }
  [[nodiscard]] std::ptrdiff_t stride() const noexcept {
    return in_a_row_ ? static_cast<std::ptrdiff_t>(list_.period()) : of_.all().stride;
  }

 private:
  bool in_a_row_;
  const segments& of_;
  const segments& list_;
};

bool is_list_of_blocks(const segments& s) noexcept {
  return s.all().count > 1 && s.runs().size() > 1 &&
         std::ranges::all_of(s.runs(), [](const block_run& r) {
           return r.inner.count == 1 && r.middle.count == 1;
         });
}
bool same_blocks(const segments& a, const segments& b) noexcept {
  return std::ranges::equal(a.runs(), b.runs(), {}, &block_run::block, &block_run::block);
}

// The list that both sides go along, members of structures for example; null when there is none.
const segments* common_list(const segments& to, const segments& from) noexcept {
  const segments& list = to.contiguous() ? from : to;
  if (!is_list_of_blocks(list)) return nullptr;
  const segments& other = to.contiguous() ? to : from;
  return other.contiguous() || (is_list_of_blocks(other) && same_blocks(list, other)) ? &list
                                                                                      : nullptr;
}

}  // namespace

void copy_segments(const segments& to, const segments& from, std::size_t begin, std::size_t end) {
  const segments* const list = common_list(to, from);
  if (list == nullptr) return copy_from_place_to_place(to, from, begin, end);
  // Block by block of the list, each for many passes: finding the next place in a list costs more than
  // a small copy. As many passes as stay in the cache, for the blocks lie in the same lines.
  constexpr std::ptrdiff_t cached_bytes = 16 * 1024;
  const along_passes target(to, *list), source(from, *list);
  const std::size_t first = (begin + list->period() - 1) / list->period();
  const std::size_t last = end / list->period();
  const std::ptrdiff_t stride =
      std::max({std::abs(target.stride()), std::abs(source.stride()), std::ptrdiff_t{1}});
  const auto together = static_cast<std::size_t>(cached_bytes / stride);
  if (together < 2 || last < first + 2) return copy_from_place_to_place(to, from, begin, end);
  copy_from_place_to_place(to, from, begin, first * list->period());
  for (std::size_t pass = first; pass < last; pass += together)
    for (std::size_t index = 0; index < list->runs().size(); ++index)
      copy_pieces(target.at(pass, index), target.stride(), source.at(pass, index), source.stride(),
                  list->runs()[index].block, std::min(together, last - pass));
  copy_from_place_to_place(to, from, last * list->period(), end);
}

bool has_short_blocks(const segments& s) noexcept {
  std::size_t blocks = 0;
  for (const block_run& r : s.runs()) blocks += r.inner.count * r.middle.count;
  return s.period() < blocks * cache_line;
}

}  // namespace weft::detail
