// Messages of data that do not lie in a row: parts of arrays, members of structures, several ranges at
// once. A layout says where the bytes of a message are, in the order in which they are sent. It owns
// no data, and is cheap to copy; the memory that it names must live as long as a message uses it.
//
//   world.send(strided(matrix, {.first = j, .stride = columns, .count = rows}), to);   // column j
//   world.recv(sub_array(grid, {nz, ny, nx}, {1, 1, 0}, {nz - 2, ny - 2, 1}), from);   // a face
//   world.isend(indexed(values, blocks), to);
//   world.send(members(particles, &particle::x, &particle::id), to);
//   world.recv(gathered(step, time, forces), from);
//
// Both sides may use different layouts, or none: only the number of bytes counts. Blocks that overlap
// can be sent; which of them a receive leaves there is not defined. Parts beyond their range throw
// weft::error.
#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/element.hpp"
#include "weft/refusal.hpp"
#include "weft/shared_handle.hpp"

namespace weft {
namespace detail {

struct repeat {
  std::size_t count = 1;
  std::ptrdiff_t stride = 0;  // Bytes from start to start.
};

// `middle.count` rows of `inner.count` blocks.
struct block_run {
  std::ptrdiff_t offset = 0;  // The first block lies so far from the base.
  std::size_t block = 0;      // Bytes in a row.
  repeat inner{};
  repeat middle{};
  std::size_t before = 0;  // Bytes of the runs before this one in the list; filled in by segments.
  [[nodiscard]] std::size_t bytes() const noexcept { return block * inner.count * middle.count; }
};

// Runs that copies of a layout share.
struct run_list {
  std::vector<block_run> runs;
};
void add_owner(const run_list& of) noexcept;
void remove_owner(const run_list& of) noexcept;

// What all layouts become: a list of runs that is repeated. A datatype in the sense of MPI is the list
// without a base; a message of several is the list repeated at its extent.
class segments {
 public:
  segments() noexcept = default;
  explicit segments(std::span<const std::byte> in_a_row) noexcept
      : base_(reinterpret_cast<std::uintptr_t>(in_a_row.data())),
        size_(in_a_row.size()),
        period_(in_a_row.size()) {
    only_.block = in_a_row.size();
  }
  // Joins what is adjacent, so that a layout that happens to be contiguous is found to be.
  segments(const void* base, repeat all, std::vector<block_run> runs);
  // The same elsewhere, `all` times; the list is shared where that is possible.
  [[nodiscard]] segments placed(const void* base, repeat all) const;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool contiguous() const noexcept { return size_ == 0 || only_.block == size_; }
  // Only when contiguous.
  [[nodiscard]] std::span<std::byte> flat() const noexcept {
    if (size_ == 0) return {};
    return {reinterpret_cast<std::byte*>(base_ + static_cast<std::uintptr_t>(only_.offset)), size_};
  }

  [[nodiscard]] std::uintptr_t base() const noexcept { return base_; }
  [[nodiscard]] const repeat& all() const noexcept { return all_; }
  [[nodiscard]] std::size_t period() const noexcept { return period_; }  // Bytes of the list.
  [[nodiscard]] std::span<const block_run> runs() const noexcept {
    return list_ != nullptr ? std::span(list_->runs) : std::span(&only_, 1);
  }

 private:
  std::uintptr_t base_ = 0;
  std::size_t size_ = 0;
  std::size_t period_ = 0;
  repeat all_{};
  block_run only_{};  // When it is the only one; else block 0.
  shared_handle<const run_list> list_;
};

}  // namespace detail

// `Byte` is const where the memory can only be sent.
template <class Byte>
class basic_layout {
 public:
  basic_layout() noexcept = default;  // Of no bytes.
  explicit basic_layout(detail::segments where) noexcept : segments_(std::move(where)) {}
  // A writable layout can be sent like any other.
  template <class Other>
  requires(std::is_const_v<Byte> && !std::is_const_v<Other>)
      basic_layout(const basic_layout<Other>& other)
  noexcept : segments_(other.where()) {}
  [[nodiscard]] std::size_t size_bytes() const noexcept { return segments_.size(); }
  [[nodiscard]] const detail::segments& where() const noexcept { return segments_; }

 private:
  detail::segments segments_;
};
[[nodiscard]] inline const detail::segments& bytes_of(const any_layout auto& l) noexcept {
  return l.where();
}
[[nodiscard]] inline const detail::segments& writable_bytes_of(
    const writable_layout auto& l) noexcept {
  return l.where();
}

namespace detail {

template <class T>
using layout_of =
    std::conditional_t<std::is_const_v<std::remove_reference_t<T>>, const_layout, layout>;
template <class R>
using layout_of_range = layout_of<std::ranges::range_reference_t<R>>;

[[nodiscard]] segments strided_segments(const void* base, std::size_t size,
                                        std::size_t element_bytes, std::size_t first,
                                        std::size_t block, std::size_t stride, std::size_t count);
[[nodiscard]] segments sub_array_segments(const void* base, std::size_t size,
                                          std::size_t element_bytes,
                                          std::span<const std::size_t> shape,
                                          std::span<const std::size_t> first,
                                          std::span<const std::size_t> count);
void append(std::vector<block_run>& to, const segments& more);
[[gnu::cold, noreturn]] void wrong_block(std::size_t first, std::size_t count, std::size_t size);

}  // namespace detail

// Its numbers count elements of the range.
struct stride_of {
  std::size_t first = 0;   // Index of the first block.
  std::size_t block = 1;   // Elements of each block.
  std::size_t stride = 1;  // A block starts so far behind the start of the one before.
  std::size_t count = 0;   // Blocks.
};
template <class R>
[[nodiscard]] auto strided(R&& range, const stride_of& how) {
  if constexpr (lasting_range<R>) {
    return detail::layout_of_range<R>(detail::strided_segments(
        std::ranges::data(range), std::ranges::size(range), sizeof(std::ranges::range_value_t<R>),
        how.first, how.block, how.stride, how.count));
  } else {
    detail::refuse<R, detail::use::refer_to>();
    return layout();
  }
}

struct block_of {
  std::size_t first = 0;
  std::size_t count = 1;
};
template <lasting_range R, class Blocks>
requires(std::ranges::input_range<Blocks>&&
             std::convertible_to<std::ranges::range_reference_t<Blocks>, block_of>)
    [[nodiscard]] auto indexed(R&& range, const Blocks& blocks) {
  constexpr std::size_t bytes = sizeof(std::ranges::range_value_t<R>);
  const std::size_t size = std::ranges::size(range);
  std::vector<detail::block_run> runs;
  for (const block_of& b : blocks) {
    if (b.first > size || b.count > size - b.first) detail::wrong_block(b.first, b.count, size);
    runs.push_back({static_cast<std::ptrdiff_t>(b.first * bytes), b.count * bytes});
  }
  return detail::layout_of_range<R>(
      detail::segments(std::ranges::data(range), {}, std::move(runs)));
}
template <lasting_range R>
[[nodiscard]] auto indexed(R&& range, std::initializer_list<block_of> blocks) {
  return indexed(range, std::span(blocks.begin(), blocks.size()));
}

// Of an array of `shape` whose last index runs fastest, `count` elements from `first` on in each
// dimension.
template <std::size_t D, lasting_range R>
requires(D <= 4)
    [[nodiscard]] auto sub_array(R&& range, const std::size_t (&shape)[D],
                                 const std::size_t (&first)[D], const std::size_t (&count)[D]) {
  return detail::layout_of_range<R>(
      detail::sub_array_segments(std::ranges::data(range), std::ranges::size(range),
                                 sizeof(std::ranges::range_value_t<R>), shape, first, count));
}

// The named members of every object, object by object; what else an object holds is neither read nor written.
template <class R, class... Members>
requires(sizeof...(Members) > 0 && std::ranges::contiguous_range<R> &&
         std::ranges::sized_range<R> &&
         (std::ranges::borrowed_range<R> || refers_to_writable_elements<R>))
    [[nodiscard]] auto members(R&& range, Members std::ranges::range_value_t<R>::*... named) {
  using T = std::ranges::range_value_t<R>;
  using layout_type = detail::layout_of_range<R>;
  constexpr bool plain = (element<Members> && ...);
  static_assert(plain, "weft: a member that owns or points to memory cannot be sent: leave it out");
  if (std::ranges::size(range) == 0) return layout_type();
  const T& one = *std::ranges::data(range);
  const auto* start = reinterpret_cast<const std::byte*>(&one);
  std::vector<detail::block_run> runs{
      {reinterpret_cast<const std::byte*>(&(one.*named)) - start, sizeof(Members)}...};
  return layout_type(detail::segments(
      start, {std::ranges::size(range), static_cast<std::ptrdiff_t>(sizeof(T))}, std::move(runs)));
}

namespace detail {

// A part of gathered(): a value that lives elsewhere, a range, or a layout.
template <class P>
concept lasting_part = lasting_value<P> || lasting_range<P> || any_layout<P>;
template <class P>
inline constexpr bool is_writable_part = !std::is_const_v<std::remove_reference_t<P>>;
template <element_range P>
inline constexpr bool is_writable_part<P> = writable_range<P>;
template <any_layout P>
inline constexpr bool is_writable_part<P> = writable_layout<P>;

template <class P>
void append_part(std::vector<block_run>& runs, const P& part) {
  if constexpr (any_layout<P>)
    append(runs, part.where());
  else
    append(runs, segments(bytes_of(part)));
}

}  // namespace detail

// One after the other in one message.
template <class... Parts>
[[nodiscard]] auto gathered(Parts&&... parts) {
  constexpr bool last = (detail::lasting_part<Parts> && ...);
  static_assert(
      last,
      "weft: a layout refers to its parts: give variables, or views of them, that hold no addresses");
  if constexpr (last) {
    std::vector<detail::block_run> runs;
    (detail::append_part(runs, parts), ...);
    using byte =
        std::conditional_t<(detail::is_writable_part<Parts> && ...), std::byte, const std::byte>;
    return basic_layout<byte>(detail::segments(nullptr, {}, std::move(runs)));
  } else {
    return const_layout();
  }
}

}  // namespace weft
