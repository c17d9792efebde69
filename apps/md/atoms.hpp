// The atoms of one rank.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "md/forces.hpp"
#include "md/units.hpp"

namespace md {

struct atom_store {
  std::size_t owned = 0;
  // Owned atoms, then ghosts (copies of other ranks' atoms), then the kernels' remote site.
  std::vector<site> sites;
  // The rest only for owned atoms.
  std::vector<vec3> velocity;
  std::vector<std::uint64_t> id;  // Place in the whole crystal: the same for any number of ranks.

  std::uint32_t distant() const { return static_cast<std::uint32_t>(sites.size() - 1); }
  vec3 position(std::size_t i) const { return {sites[i].x, sites[i].y, sites[i].z}; }
  void add(std::uint64_t atom_id, const vec3& position, const vec3& atom_velocity) {
    sites.push_back({position.x, position.y, position.z, 0});
    velocity.push_back(atom_velocity);
    id.push_back(atom_id);
    ++owned;
  }
};

}  // namespace md
