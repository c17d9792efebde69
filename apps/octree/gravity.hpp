// Gravity by a fast multipole method whose boxes are the cells of all levels.
//
//   up      eight cells become one of the parent: mass, centre of mass, second moments
//   beside  at each level a cell meets those cells whose parents touch its parent. Cells that touch each other are left
//           to their children; but where one of them belongs to a leaf, which has none, they meet here
//   down    what a cell has of the field is moved to the centres of its eight children
//
// So each pair of cells of leaves meets exactly once, at whatever level. Moments are cut after second order, the field
// after third. With cells that meet as near as this, potentials are right to some 0.1 %, accelerations to some 2 % (root of
// the mean square, against direct sums). All sums have a fixed order. The constant of gravity is 1.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "octree/block.hpp"

namespace octree {

using moment_block = std::array<double, moments * cells>;
using field_block = std::array<double, field_terms * cells>;

// Cells that are near a node: its own and two layers around, [12 x 12 x 12].
inline constexpr std::size_t near_side = side + 4, near_cells = near_side * near_side * near_side;

// Moments of those cells. Without a mass there is nothing.
struct near_sources {
  std::vector<double> values = std::vector<double>(moments * near_cells);  // [moment][cell]
  std::vector<double> of_leaf = std::vector<double>(near_cells);           // 1: a cell of a leaf.
  bool leaves_only = true;  // Then nothing but masses is looked at.

  void clear();
  // What a node seen in this direction has packed, or the node itself (direction 13, all its cells).
  void place(std::span<const double> packed, int direction, bool leaf);
};

// The near part of a node's moments, for a node that sees it in `direction`: [moment][cells], of a leaf masses only.
void pack_near(const moment_block& from, int direction, bool leaf, std::span<double> out);

// Masses of a leaf's cells; its other moments stay 0.
void moments_of_leaf(std::span<const double> density, double cell, moment_block& out);
// Of a node's cells, of width `cell`, as those of its parent: [moment][4 x 4 x 4].
void pack_up(const moment_block& from, double cell, std::span<double> out);
void place_up(std::span<const double> part, std::size_t child, moment_block& to);

// The field of the near cells. `alone`: the node is the root, whose cells all meet. Of a leaf only terms 0 to 3.
void interact(const near_sources& sources, bool is_leaf, bool alone, double cell, field_block& out);

// The part of the field that a child's cells lie in: [term][4 x 4 x 4], and what it adds to it.
void pack_down(const field_block& from, std::size_t child, std::span<double> out);
// Of a leaf only terms 0 to 3. `cell`: the child's.
void add_down(std::span<const double> part, bool is_leaf, double cell, field_block& to);

}  // namespace octree
