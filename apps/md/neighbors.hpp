// Finds the neighbours of every owned atom with link cells half as wide as the lists' reach.
#pragma once
#include <cstdint>
#include <vector>

#include "md/atoms.hpp"
#include "md/loops.hpp"

namespace md {

class neighbor_finder {
 public:
  explicit neighbor_finder(double reach) : reach_(reach) {}

  // Puts owned atoms that are close in space close in memory. Needs no ghosts.
  void sort_atoms(atom_store& atoms, const vec3& low, const vec3& high);
  // Fills `list` for atoms with ghosts. The lists' order follows from the atoms' order.
  void find(const atom_store& atoms, const atom_loops& loops, neighbor_list& list);

 private:
  void bin(const std::vector<site>& sites, std::size_t count, const vec3& low, const vec3& high);
  int cell_along(int axis, double x) const;
  // Returns the number found; writes no more than `room` of them.
  std::size_t find_one(const std::vector<site>& sites, std::size_t i, std::uint32_t* out,
                       std::size_t room) const;

  double reach_;
  int cells_[3] = {};
  vec3 low_, per_width_;
  std::vector<std::uint32_t> cell_of_, cell_begin_, order_;
  std::vector<site> binned_;  // The sites in the order of their cells.
};

}  // namespace md
