// A face-centred cubic crystal, with or without spherical voids, and its thermal motion.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "md/atoms.hpp"
#include "md/domain.hpp"

namespace md {

struct sphere {
  vec3 center;
  double radius = 0;
};

struct crystal {
  std::array<int, 3> cells{20, 20, 20};
  double lattice_constant = 0;
  std::vector<sphere> voids;  // No atom stands within them, periodically.

  vec3 box() const;
  std::uint64_t sites() const;  // With the atoms that the voids take away.
};

// `count` spheres spread evenly over the upper half of the box along x. Ranks are numbered along x
// first, so one half of the ranks keeps all its atoms and the other half loses many.
std::vector<sphere> spread_voids(int count, double radius, const vec3& box);

// The atoms of `crystal` that stand in `where`. Thermal velocities follow from the seed and the
// atom's id alone, so they do not depend on the number of ranks; their width is that of the given
// temperature, but momentum and temperature are exact only after `simulation` has adjusted them.
atom_store make_atoms(const crystal& crystal, const domain& where, double mass, double temperature,
                      std::uint64_t seed);

}  // namespace md
