#include "rank/segment_copy.hpp"

#include <algorithm>
#include <cstring>

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
                         [](std::size_t octet, const block_run& r) { return octet < r.before; }) -
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

  // How many pieces of `octets` follow from here at one distance, which is `stride()`.
  [[nodiscard]] std::size_t pieces(std::size_t octets) const noexcept {
    if (left_ != octets) return left_ / octets;
    const block_run& r = runs_[run_];
    return octets == r.block ? r.inner.count - inner_ : 1;
  }
  [[nodiscard]] std::ptrdiff_t stride(std::size_t octets) const noexcept {
    return left_ != octets ? static_cast<std::ptrdiff_t>(octets) : runs_[run_].inner.stride;
  }
  void skip(std::size_t count, std::size_t octets) noexcept {
    if (left_ != octets) {
      advance(count * octets);
    } else {
      inner_ += count - 1;
      next_block();
    }
  }
  // By at most left().
  void advance(std::size_t octets) noexcept {
    at_ += octets;
    left_ -= octets;
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

// `Octets` is known when compiling for the usual elements: a load and a store instead of a call.
template <std::size_t Octets>
void copy_pieces(std::byte* to, std::ptrdiff_t to_stride, const std::byte* from,
                 std::ptrdiff_t from_stride, std::size_t octets, std::size_t count) noexcept {
  for (;;) {
    std::memcpy(to, from, Octets != 0 ? Octets : octets);
    if (--count == 0) return;  // No pointer is moved beyond the last piece.
    to += to_stride;
    from += from_stride;
  }
}

}  // namespace

void copy_octets(const segments& to, const segments& from, std::size_t begin, std::size_t end) {
  if (begin == end) return;
  cursor target(to, begin);
  cursor source(from, begin);
  for (std::size_t left = end - begin; left != 0;) {
    const std::size_t octets = std::min({target.left(), source.left(), left});
    const std::size_t count =
        std::min({target.pieces(octets), source.pieces(octets), left / octets});
    const auto copy = octets == 8    ? &copy_pieces<8>
                      : octets == 4  ? &copy_pieces<4>
                      : octets == 16 ? &copy_pieces<16>
                                     : &copy_pieces<0>;
    copy(target.at(), target.stride(octets), source.at(), source.stride(octets), octets, count);
    left -= count * octets;
    target.skip(count, octets);
    source.skip(count, octets);
  }
}

}  // namespace weft::detail
