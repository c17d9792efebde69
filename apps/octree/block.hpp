// What a node of the tree holds: 8 x 8 x 8 cells. Arrays are [field][cell], the cell (i, j, k) at 64 i + 8 j + k.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace octree {

inline constexpr int width = 8;  // Cells along an edge of a node.
inline constexpr std::size_t side = width;
inline constexpr std::size_t face_cells = side * side, cells = side * side * side;

// Of hydrodynamics, conserved, per volume. The last two are the matter that began in each of the stars.
enum field : std::size_t {
  density,
  momentum_x,
  momentum_y,
  momentum_z,
  energy,
  first_star,
  second_star
};
inline constexpr std::size_t fields = 7;
inline constexpr std::size_t ghost_layers = 2;

// Of a cell as a source of gravity: mass, its centre from the cell's centre, second moments about
// that centre (xx, xy, xz, yy, yz, zz).
inline constexpr std::size_t moments = 10;
// Of the field around a cell's centre: the sum of m/r and its derivatives of first (3), second (6) and third
// order (10): xxx, xxy, xxz, xyy, xyz, xzz, yyy, yyz, yzz, zzz.
inline constexpr std::size_t field_terms = 20;

using hydro_block = std::array<double, fields * cells>;
using vec3 = std::array<double, 3>;
using index3 = std::array<int, 3>;

// A face of a node: 2 axis + (1 at the upper end of the axis).
inline constexpr int faces = 6;
[[nodiscard]] constexpr int axis_of(int face) noexcept {
  return face / 2;
}
[[nodiscard]] constexpr bool is_upper(int face) noexcept {
  return face % 2 == 1;
}
[[nodiscard]] constexpr int opposite(int face) noexcept {
  return face ^ 1;
}
// Distances of a cell from the next along each axis. The cells of a layer across an axis are numbered along the other two
// axes in their order, the last one fastest.
inline constexpr std::array<std::size_t, 3> stride{face_cells, side, 1};
[[nodiscard]] constexpr std::array<int, 2> axes_across(int axis) noexcept {
  return {axis == 0 ? 1 : 0, axis == 2 ? 1 : 2};
}
[[nodiscard]] constexpr std::size_t cell_in_layer(int axis, std::size_t layer, std::size_t b,
                                                  std::size_t c) noexcept {
  const auto [first, second] = axes_across(axis);
  return layer * stride[static_cast<std::size_t>(axis)] +
         b * stride[static_cast<std::size_t>(first)] + c * stride[static_cast<std::size_t>(second)];
}

}  // namespace octree
