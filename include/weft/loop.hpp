// Loops whose chunks idle ranks may steal (Pure section 3.2). The calling rank owns the loop and
// returns when every chunk is done; the first exception of a chunk is rethrown to it.
//
// A chunk may run on any worker, at the same time as others of its loop. It sees the owner as
// this_rank(). It may start loops of its own; it may not communicate or wait: that throws.
// A chunk of a loop over data covers whole cache lines where aligned_range() draws the borders.
// A loop of 2^63 indices or chunks, or more, throws.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft {

struct range_1d {
  std::size_t begin = 0;
  std::size_t end = 0;
  [[nodiscard]] constexpr std::size_t size() const noexcept { return end - begin; }
};

// How many chunks a worker takes at once: one, a share of what is left (guided self-scheduling:
// large first, small late), or what the option `chunks` says.
enum class chunk_mode : std::uint8_t { automatic, guided, single };

struct loop_options {
  std::size_t grain = 0;  // Indices in a chunk; 0: a 64th of the loop.
  bool stealable = true;
  chunk_mode mode = chunk_mode::automatic;
};

namespace detail {
// Runs chunks 0..count-1 by `invoke(body, first, last)`.
void run_loop(std::size_t count, void (*invoke)(void*, std::int64_t, std::int64_t), void* body,
              const loop_options& how);

template <class Body>
void run_chunks(std::size_t count, Body&& body, const loop_options& how) {
  run_loop(
      count,
      [](void* f, std::int64_t first, std::int64_t last) {
        (*static_cast<std::remove_reference_t<Body>*>(f))(static_cast<std::size_t>(first),
                                                          static_cast<std::size_t>(last));
      },
      const_cast<void*>(static_cast<const void*>(&body)), how);
}

// Not std::min, for which every program would read all algorithms of the standard library.
[[nodiscard]] constexpr std::size_t smaller(std::size_t a, std::size_t b) noexcept {
  return b < a ? b : a;
}
[[nodiscard]] constexpr std::size_t grain_for(std::size_t count, std::size_t wanted) noexcept {
  return wanted != 0 ? detail::smaller(wanted, count) : (count - 1) / 64 + 1;
}

// A body of single indices, or of parts of a loop. Indices are asked for first: asking a generic lambda
// compiles it, and most are written for indices.
template <class Body>
concept index_body = std::is_invocable_v<Body&, std::size_t>;
template <class Body>
concept loop_body = index_body<Body> || std::is_invocable_v<Body&, range_1d>;

// Of the indices of a loop, and of its chunks.
inline constexpr std::size_t indices_max = std::numeric_limits<std::int64_t>::max();
// Throws, unless an extent is 0.
[[gnu::cold]] void refuse_extents(std::span<const std::size_t> extents);

// The number of points of a box.
template <std::size_t N>
[[nodiscard]] std::size_t points_of(const std::array<std::size_t, N>& extents) {
  std::size_t points = 1;
  bool fits = true;
  for (const std::size_t extent : extents) fits &= !__builtin_mul_overflow(points, extent, &points);
  if (fits && points <= indices_max) [[likely]]
    return points;
  refuse_extents(extents);
  return 0;
}
}  // namespace detail

// The indices of `chunk`, of `chunks` of an array of `count` elements: equal shares whose borders
// lie on cache lines, so that no two chunks write to one line. Where an element straddles a border, the
// chunk that it begins in writes its end as well: then two chunks share that line.
template <class T>
[[nodiscard]] range_1d aligned_range(const T* base, std::size_t count, std::size_t chunk,
                                     std::size_t chunks) noexcept {
  constexpr std::size_t line = 64;
  const auto address = reinterpret_cast<std::uintptr_t>(base);
  // Lines are counted from the one that holds element 0; an element belongs to the line that its
  // first byte lies in.
  const std::uintptr_t origin = address / line * line;
  const std::size_t lines = count == 0 ? 0 : (address + count * sizeof(T) - 1 - origin) / line + 1;
  const auto border = [&](std::size_t c) {
    if (c == chunks) return count;
    const std::uintptr_t at = origin + lines * c / chunks * line;
    return at <= address ? std::size_t{0}
                         : detail::smaller(count, (at - address + sizeof(T) - 1) / sizeof(T));
  };
  return {border(chunk), border(chunk + 1)};
}

// body(std::size_t index) or body(range_1d part), over [begin, end). A generic lambda gets indices.
template <class Body>
void parallel_for(std::size_t begin, std::size_t end, Body&& body, loop_options how = {}) {
  constexpr bool fits = detail::loop_body<Body>;
  static_assert(fits,
                "weft: the body of a loop is called with an index, body(std::size_t), or with a "
                "part of the loop, body(weft::range_1d)");
  if (begin >= end) return;
  const std::size_t count = detail::points_of<1>({end - begin});
  const std::size_t grain = detail::grain_for(count, how.grain);
  detail::run_chunks(
      (count - 1) / grain + 1,
      [&](std::size_t first, std::size_t last) {
        const range_1d part{begin + first * grain, begin + detail::smaller(count, last * grain)};
        if constexpr (detail::index_body<Body>)
          for (std::size_t i = part.begin; i < part.end; ++i) body(i);
        else if constexpr (detail::loop_body<Body>)
          body(part);
      },
      how);
}

// body(element) for every element of a range with an index: std::vector, std::span, std::views::iota.
template <class R, class Body>
requires std::ranges::range<R>
void parallel_for(R&& range, Body&& body, loop_options how = {}) {
  constexpr bool has_indices = std::ranges::random_access_range<R> && std::ranges::sized_range<R>;
  static_assert(has_indices,
                "weft: chunks of a loop begin at an index: give a range with random "
                "access and a size, such as a std::vector");
  if constexpr (has_indices) {
    using element = std::ranges::range_reference_t<R>;
    static_assert(!std::is_same_v<element, std::vector<bool>::reference>,
                  "weft: chunks that run at the same time would write to bits of one byte of a "
                  "std::vector<bool>: give a std::vector<char>");
    constexpr bool takes_element = std::is_invocable_v<Body&, element>;
    static_assert(takes_element, "weft: the body of a loop over a range is called with an element");
    const auto first = std::ranges::begin(range);
    if constexpr (takes_element)
      parallel_for(
          0, static_cast<std::size_t>(std::ranges::size(range)),
          [&](std::size_t i) { body(first[static_cast<std::ranges::range_difference_t<R>>(i)]); },
          how);
  }
}

namespace detail {
// body(i, j, k) for the points of a box, which are `points`. A chunk goes row by row: a row is a plain
// loop, which compilers vectorise, and only a chunk's first point costs divisions.
template <class Body>
void run_box(std::size_t points, const std::array<std::size_t, 3>& extent, Body&& body,
             const loop_options& how) {
  parallel_for(
      0, points,
      [&](range_1d part) {
        const std::size_t row = part.begin / extent[2];
        std::size_t i = row / extent[1];
        std::size_t j = row % extent[1];
        std::size_t first = part.begin % extent[2];
        for (std::size_t left = part.size(); left != 0; first = 0) {
          const std::size_t end = detail::smaller(extent[2], first + left);
          for (std::size_t k = first; k < end; ++k) body(i, j, k);
          left -= end - first;
          if (++j == extent[1]) j = 0, ++i;
        }
      },
      how);
}
}  // namespace detail

// body(i, j) over a box; chunks are runs of the last index in row-major order.
template <class Body>
requires std::is_invocable_v<Body&, std::size_t, std::size_t>
void parallel_for(std::array<std::size_t, 2> extent, Body&& body, loop_options how = {}) {
  detail::run_box(
      detail::points_of(extent), {1, extent[0], extent[1]},
      [&](std::size_t, std::size_t i, std::size_t j) { body(i, j); }, how);
}

// body(i, j, k) over a box.
template <class Body>
requires std::is_invocable_v<Body&, std::size_t, std::size_t, std::size_t>
void parallel_for(std::array<std::size_t, 3> extent, Body&& body, loop_options how = {}) {
  detail::run_box(detail::points_of(extent), extent, body, how);
}

// Combines map(std::size_t index) of all indices, or map(range_1d part) of all chunks: `identity` and the
// indices of a chunk in their order, and then all chunks in theirs. The same result whoever ran which.
template <class T, class Map, class Combine>
[[nodiscard]] T parallel_reduce(std::size_t begin, std::size_t end, T identity, Map&& map,
                                Combine&& combine, loop_options how = {}) {
  constexpr bool fits = detail::loop_body<Map>;
  static_assert(fits,
                "weft: the map of a loop is called with an index, map(std::size_t), or with a part "
                "of the loop, map(weft::range_1d)");
  if (begin >= end) return identity;
  const std::size_t count = detail::points_of<1>({end - begin});
  const std::size_t grain = detail::grain_for(count, how.grain);
  const auto reduced = [&](range_1d part) -> T {
    if constexpr (detail::index_body<Map>) {
      T value = identity;
      for (std::size_t i = part.begin; i < part.end; ++i) value = combine(value, map(i));
      return value;
    } else if constexpr (detail::loop_body<Map>) {
      return map(part);
    } else {
      return identity;
    }
  };
  struct alignas(64) part {
    T value;
  };
  std::vector<part> parts((count - 1) / grain + 1, part{identity});
  detail::run_chunks(
      parts.size(),
      [&](std::size_t first, std::size_t last) {
        for (std::size_t c = first; c < last; ++c)
          parts[c].value =
              reduced(range_1d{begin + c * grain, begin + detail::smaller(count, (c + 1) * grain)});
      },
      how);
  T result = identity;
  for (const part& p : parts) result = combine(result, p.value);
  return result;
}

// A Pure task: defined once, executed often. body(first_chunk, end_chunk) or, when execute() is
// given an argument, body(first_chunk, end_chunk, argument).
template <class Body>
class loop_task {
 public:
  loop_task(std::size_t chunks, Body body, loop_options how = {})
      : chunks_(chunks), body_(std::move(body)), how_(how) {}

  void execute() { detail::run_chunks(chunks_, body_, how_); }
  // A temporary is const for the chunks: what they wrote to it would be lost.
  template <class Argument>
  void execute(Argument&& argument) {
    std::conditional_t<std::is_lvalue_reference_v<Argument>, Argument, const Argument&> of_chunks =
        argument;
    detail::run_chunks(
        chunks_, [&](std::size_t first, std::size_t last) { body_(first, last, of_chunks); }, how_);
  }
  // The number of chunks may change between executions.
  void set_chunks(std::size_t chunks) noexcept { chunks_ = chunks; }
  [[nodiscard]] std::size_t chunks() const noexcept { return chunks_; }

 private:
  std::size_t chunks_;
  Body body_;
  loop_options how_;
};

}  // namespace weft
