// The numbers of one block: diffusion over 8 x 8 x 8 cells in flux form, so that what leaves one cell arrives in another, also between
// levels. Without weft, since the MPI form of the program includes it.
//
// A face's flux is proportional to the difference of the two values over their distance. Beside a coarser cell that distance is 1.5
// cells; a coarser cell has four such faces, of a quarter of its own area. Both sides compute the same flux from the same values.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "front/random_bits.hpp"
#include "octree/block.hpp"

namespace amr {

using octree::cells;
using octree::face_cells;
using octree::side;

// What lies beyond a face of a block.
enum class beyond : std::uint8_t { wall, same, coarser, finer };

// Values of one variable that a block beyond a face gives for it. Of four finer blocks, each gives so many.
[[nodiscard]] constexpr std::size_t values_of(beyond what) noexcept {
  return what == beyond::wall ? 0 : what == beyond::coarser ? face_cells / 4 : face_cells;
}

// The values of one variable beyond a face: one block's, or those of the four quarters.
struct face_values {
  beyond what = beyond::wall;
  std::array<const double*, 4> parts{};
};

// Of one variable of a block, those that the block beyond its face `face` sees: all of the layer, or the quarter `part` where that block
// is finer. Quarters are numbered 2 b + c along the two axes across.
inline void pack_layer(const double* block, int face, beyond seen_as, std::size_t part,
                       double* out) noexcept {
  const int axis = octree::axis_of(face);
  const std::size_t layer = octree::is_upper(face) ? side - 1 : 0;
  const std::size_t half = side / 2;
  const bool quarter = seen_as == beyond::coarser;
  const std::size_t rows = quarter ? half : side;
  const std::size_t b0 = quarter ? part / 2 * half : 0, c0 = quarter ? part % 2 * half : 0;
  for (std::size_t b = 0; b < rows; ++b)
    for (std::size_t c = 0; c < rows; ++c)
      *out++ = block[octree::cell_in_layer(axis, layer, b0 + b, c0 + c)];
}

// One explicit step of one variable: out = in + rate × (sum of the differences to the six beside).
inline void diffuse(double* out, const double* in, const std::array<face_values, 6>& faces,
                    double rate) noexcept {
  constexpr std::size_t edge = side + 2;
  constexpr std::array<std::size_t, 3> far{edge * edge, edge, 1};
  std::array<double, edge * edge * edge> with_ghosts;
  const auto place = [&](std::size_t i, std::size_t j, std::size_t k) {
    return (i + 1) * far[0] + (j + 1) * far[1] + k + 1;
  };
  for (std::size_t i = 0; i < side; ++i)
    for (std::size_t j = 0; j < side; ++j)
      std::copy_n(in + (i * side + j) * side, side, &with_ghosts[place(i, j, 0)]);

  for (int face = 0; face < octree::faces; ++face) {
    const face_values& from = faces[static_cast<std::size_t>(face)];
    const int axis = octree::axis_of(face);
    const auto [first, second] = octree::axes_across(axis);
    const std::size_t layer = octree::is_upper(face) ? side - 1 : 0;
    const std::size_t step = far[static_cast<std::size_t>(axis)];
    for (std::size_t b = 0; b < side; ++b)
      for (std::size_t c = 0; c < side; ++c) {
        const std::size_t own = place(0, 0, 0) + layer * step +
                                b * far[static_cast<std::size_t>(first)] +
                                c * far[static_cast<std::size_t>(second)];
        double& ghost = with_ghosts[octree::is_upper(face) ? own + step : own - step];
        const double mine = with_ghosts[own];
        switch (from.what) {
          case beyond::wall:
            ghost = mine;
            break;
          case beyond::same:
            ghost = from.parts[0][side * b + c];
            break;
          case beyond::coarser:
            ghost = mine + (from.parts[0][side / 2 * (b / 2) + c / 2] - mine) * (2.0 / 3.0);
            break;
          case beyond::finer: {
            const std::size_t half = side / 2, part = 2 * (b / half) + c / half;
            const double* const fine = from.parts[part] + side * 2 * (b % half) + 2 * (c % half);
            const double differences = ((fine[0] - mine) + (fine[1] - mine)) +
                                       ((fine[side] - mine) + (fine[side + 1] - mine));
            ghost = mine + differences * (1.0 / 3.0);
            break;
          }
        }
      }
  }

  for (std::size_t i = 0; i < side; ++i)
    for (std::size_t j = 0; j < side; ++j) {
      const double* const row = &with_ghosts[place(i, j, 0)];
      double* const to = out + (i * side + j) * side;
      for (std::size_t k = 0; k < side; ++k) {
        const double* const at = row + k;
        const double beside = ((at[-static_cast<std::ptrdiff_t>(far[0])] + at[far[0]]) +
                               (at[-static_cast<std::ptrdiff_t>(far[1])] + at[far[1]])) +
                              (at[-1] + at[1]);
        to[k] = at[0] + rate * (beside - 6 * at[0]);
      }
    }
}

// The octant `child` of a block, as 4 x 4 x 4 values; and a block of which each value is that of eight cells.
inline void pack_octant(const double* block, std::size_t child, double* out) noexcept {
  constexpr std::size_t half = side / 2;
  const std::size_t i0 = child / 4 * half, j0 = child / 2 % 2 * half, k0 = child % 2 * half;
  for (std::size_t i = 0; i < half; ++i)
    for (std::size_t j = 0; j < half; ++j)
      for (std::size_t k = 0; k < half; ++k)
        *out++ = block[((i0 + i) * side + j0 + j) * side + k0 + k];
}
inline void prolong(const double* octant, double* block) noexcept {
  for (std::size_t i = 0; i < side; ++i)
    for (std::size_t j = 0; j < side; ++j)
      for (std::size_t k = 0; k < side; ++k)
        *block++ = octant[((i / 2) * (side / 2) + j / 2) * (side / 2) + k / 2];
}

// A block as 4 x 4 x 4 means of eight cells; and these as the octant `child` of a coarser block.
inline void restrict_block(const double* block, double* out) noexcept {
  for (std::size_t i = 0; i < side; i += 2)
    for (std::size_t j = 0; j < side; j += 2)
      for (std::size_t k = 0; k < side; k += 2) {
        const double* const at = block + (i * side + j) * side + k;
        const auto pair = [&](std::size_t offset) { return at[offset] + at[offset + 1]; };
        *out++ = ((pair(0) + pair(side)) + (pair(face_cells) + pair(face_cells + side))) * 0.125;
      }
}
inline void place_octant(const double* octant, std::size_t child, double* block) noexcept {
  constexpr std::size_t half = side / 2;
  const std::size_t i0 = child / 4 * half, j0 = child / 2 % 2 * half, k0 = child % 2 * half;
  for (std::size_t i = 0; i < half; ++i)
    for (std::size_t j = 0; j < half; ++j)
      for (std::size_t k = 0; k < half; ++k)
        block[((i0 + i) * side + j0 + j) * side + k0 + k] = *octant++;
}

// Any other bit in a block, or block at another place, changes it.
[[nodiscard]] inline std::uint64_t hash_of(std::uint64_t key,
                                           std::span<const double> values) noexcept {
  std::uint64_t hash = front::mixed(key);
  for (const double v : values) hash = front::mixed(hash ^ std::bit_cast<std::uint64_t>(v));
  return hash;
}

}  // namespace amr
