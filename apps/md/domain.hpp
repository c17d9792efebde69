// How the periodic box is cut into one block per rank, and who borders whom.
#pragma once
#include <array>

#include "md/units.hpp"

namespace md {

// Ranks along x, y and z.
using process_grid = std::array<int, 3>;

// The grid whose blocks have the least surface, so that the least is sent. Every block must be at
// least `halo` thick, since ghosts come from the next block only; throws weft::error naming the
// remedy when no grid fulfils that.
process_grid choose_grid(int ranks, const vec3& box, double halo);

// One rank's block of the box.
struct domain {
  domain(const process_grid& grid, int rank, const vec3& box);

  // The rank on the lower (-1) or upper (+1) side along an axis, periodically.
  int neighbor(int axis, int side) const;
  // What to add to a coordinate that is sent there.
  double shift(int axis, int side) const;
  bool contains(const vec3& position) const;

  process_grid grid;
  std::array<int, 3> place;
  vec3 box, low, high;
};

}  // namespace md
