// A binary star: two polytropes of index 1 in equilibrium, on circular orbits around each other, in thin gas.
//
// The domain is the cube from -1 to 1; the constant of gravity is 1.
#pragma once
#include "octree/block.hpp"
#include "octree/tree.hpp"

namespace octree {

inline constexpr double domain_edge = 2.0;
[[nodiscard]] constexpr double cell_width(int level) noexcept {
  return domain_edge / static_cast<double>(width) / static_cast<double>(1 << level);
}
// The middle of a cell.
[[nodiscard]] vec3 middle_of(const node& n, std::size_t i, std::size_t j, std::size_t k) noexcept;

struct star {
  vec3 center{}, velocity{};
  double radius = 0, mass = 0;
  [[nodiscard]] double density_at(double distance) const noexcept;
  [[nodiscard]] double pressure_at(double distance) const noexcept;
  [[nodiscard]] double potential_at(double distance) const noexcept;  // Of this star alone.
};

struct binary {
  std::array<star, 2> stars;
  double gas_density = 1e-4, gas_pressure = 1e-4;

  // Conserved values at a point.
  [[nodiscard]] std::array<double, fields> at(const vec3& x) const noexcept;
  [[nodiscard]] double density_max() const noexcept;
};

// Masses 1 and `ratio`, `separation` apart.
[[nodiscard]] binary make_binary(double ratio = 0.6, double separation = 0.7);

// What decides about levels: a leaf of level `levels` - 1 is refined when a cell is denser than the threshold, one of each
// lower level at an eighth of that of the next; leaves become coarser at half of that.
struct refinement {
  int base = 2, levels = 4;  // Leaves are of these levels.
  double threshold = 0.1;
  [[nodiscard]] wish wish_of(int level, double density_max) const noexcept;
};

void fill(const binary& from, const node& leaf, hydro_block& u);
[[nodiscard]] tree make_tree(const binary& from, const refinement& how, int localities);

}  // namespace octree
