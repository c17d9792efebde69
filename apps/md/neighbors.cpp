#include "md/neighbors.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <weft/error.hpp>

namespace md {

int neighbor_finder::cell_along(int axis, double x) const {
  // Clamped: an atom may have left the block by a rounding error.
  return std::clamp(static_cast<int>((x - low_[axis]) * per_width_[axis]), 0, cells_[axis] - 1);
}

void neighbor_finder::bin(const std::vector<site>& sites, std::size_t count, const vec3& low,
                          const vec3& high) {
  low_ = low;
  std::size_t cells = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const double extent = high[axis] - low[axis];
    cells_[axis] = std::max(1, static_cast<int>(extent / (0.5 * reach_)));
    per_width_[axis] = cells_[axis] / extent;
    cells *= static_cast<std::size_t>(cells_[axis]);
  }
  cell_of_.resize(count);
  cell_begin_.assign(cells + 1, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const int x = cell_along(0, sites[i].x), y = cell_along(1, sites[i].y),
              z = cell_along(2, sites[i].z);
    cell_of_[i] = static_cast<std::uint32_t>((z * cells_[1] + y) * cells_[0] + x);
    ++cell_begin_[cell_of_[i] + 1];
  }
  for (std::size_t c = 0; c < cells; ++c) cell_begin_[c + 1] += cell_begin_[c];
  order_.resize(count);
  auto next = cell_begin_;
  for (std::uint32_t i = 0; i < count; ++i) order_[next[cell_of_[i]]++] = i;
}

void neighbor_finder::sort_atoms(atom_store& atoms, const vec3& low, const vec3& high) {
  bin(atoms.sites, atoms.owned, low, high);
  atom_store sorted;
  sorted.sites.reserve(atoms.owned);
  sorted.velocity.reserve(atoms.owned);
  sorted.id.reserve(atoms.owned);
  for (const std::uint32_t i : order_)
    sorted.add(atoms.id[i], atoms.position(i), atoms.velocity[i]);
  atoms = std::move(sorted);
}

std::size_t neighbor_finder::find_one(const std::vector<site>& sites, std::size_t i,
                                      std::uint32_t* out, std::size_t room) const {
  const double x = sites[i].x, y = sites[i].y, z = sites[i].z;
  const double reach2 = reach_ * reach_;
  const int cx = cell_along(0, x), cy = cell_along(1, y), cz = cell_along(2, z);
  // Cells are at least half the reach wide, so two cells to each side suffice.
  const int x0 = std::max(cx - 2, 0), x1 = std::min(cx + 2, cells_[0] - 1);
  std::size_t found = 0;
  for (int pz = std::max(cz - 2, 0); pz <= std::min(cz + 2, cells_[2] - 1); ++pz)
    for (int py = std::max(cy - 2, 0); py <= std::min(cy + 2, cells_[1] - 1); ++py) {
      // Cells that follow each other along x are one run of memory.
      const int row = (pz * cells_[1] + py) * cells_[0];
      const std::uint32_t begin = cell_begin_[static_cast<std::size_t>(row + x0)];
      const std::uint32_t end = cell_begin_[static_cast<std::size_t>(row + x1 + 1)];
      if (found + (end - begin) > room) return room + 1;
      for (std::uint32_t k = begin; k < end; ++k) {
        const double dx = binned_[k].x - x, dy = binned_[k].y - y, dz = binned_[k].z - z;
        // Without a branch: every candidate is written, only neighbours are kept.
        out[found] = order_[k];
        found += (dx * dx + dy * dy + dz * dz < reach2) & (order_[k] != i);
      }
    }
  return found;
}

void neighbor_finder::find(const atom_store& atoms, const atom_loops& loops, neighbor_list& list) {
  const std::size_t count = atoms.sites.size() - 1;
  vec3 low{1e300, 1e300, 1e300}, high{-1e300, -1e300, -1e300};
  for (std::size_t i = 0; i < count; ++i)
    for (int axis = 0; axis < 3; ++axis) {
      const double x = atoms.position(i)[axis];
      low[axis] = std::min(low[axis], x);
      high[axis] = std::max(high[axis], x + 1e-6);
    }
  if (count == 0) low = {}, high = {1, 1, 1};
  bin(atoms.sites, count, low, high);
  binned_.resize(count);
  for (std::size_t k = 0; k < count; ++k) binned_[k] = atoms.sites[order_[k]];

  list.count.resize(atoms.owned);
  list.close_count.resize(atoms.owned);
  for (;;) {
    list.stride = std::max<std::size_t>(list.stride, 64);
    list.neighbors.resize(atoms.owned * list.stride);
    list.close.resize(atoms.owned * list.stride);
    std::atomic<std::size_t> longest = 0;
    loops.for_ranges(atoms.owned, atom_loops::heavy, [&](std::size_t begin, std::size_t end) {
      std::uint32_t found[2 * neighbors_max];
      std::size_t longest_here = 0;
      for (std::size_t i = begin; i < end; ++i) {
        std::size_t n = find_one(atoms.sites, i, found, 2 * neighbors_max);
        if (n + 3 > neighbors_max)
          throw weft::error("an atom has more than " + std::to_string(neighbors_max - 3) +
                            " neighbours within " + std::to_string(reach_) +
                            " Å; use a smaller --skin, a larger --lattice or a potential with a "
                            "shorter cutoff");
        list.count[i] = static_cast<std::uint32_t>(n);
        while (n % list_multiple != 0) found[n++] = atoms.distant();
        longest_here = std::max(longest_here, n);
        if (n <= list.stride) std::copy_n(found, n, &list.neighbors[i * list.stride]);
      }
      // Relaxed: the loop's end orders it; only the value matters.
      std::size_t seen = longest.load(std::memory_order_relaxed);
      while (seen < longest_here &&
             !longest.compare_exchange_weak(seen, longest_here, std::memory_order_relaxed)) {
      }
    });
    if (longest.load(std::memory_order_relaxed) <= list.stride) return;
    // Some spare room, so that a slight compression does not cost another round; 16 indices are
    // one cache line.
    list.stride = (longest.load(std::memory_order_relaxed) * 9 / 8 + 15) / 16 * 16;
  }
}

}  // namespace md
