#include "md/domain.hpp"

#include <cstdio>
#include <string>
#include <weft/error.hpp>

namespace md {

process_grid choose_grid(int ranks, const vec3& box, double halo) {
  process_grid best{};
  double least = 0;
  for (int x = 1; x <= ranks; ++x) {
    if (ranks % x != 0) continue;
    for (int y = 1; y <= ranks / x; ++y) {
      if (ranks / x % y != 0) continue;
      const int z = ranks / x / y;
      const double a = box.x / x, b = box.y / y, c = box.z / z;
      if (a < halo || b < halo || c < halo) continue;
      const double surface = a * b + b * c + a * c;
      // A later grid of the same surface has more ranks along x: neighbouring ranks, which share
      // a worker, then form slabs.
      if (best[0] == 0 || surface < least * (1 + 1e-9)) {
        best = {x, y, z};
        least = surface;
      }
    }
  }
  if (best[0] == 0) {
    char text[320];
    std::snprintf(
        text, sizeof text,
        "%d rank%s cannot share a box of %.1f x %.1f x %.1f Å: every rank's block must be "
        "at least %.2f Å thick (cutoff + skin); use fewer ranks, a larger --size or a "
        "smaller --skin",
        ranks, ranks == 1 ? "" : "s", box.x, box.y, box.z, halo);
    throw weft::error(text);
  }
  return best;
}

domain::domain(const process_grid& g, int rank, const vec3& b)
    : grid(g), place{rank / (g[1] * g[2]), rank / g[2] % g[1], rank % g[2]}, box(b) {
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    // Neighbours compute a common border by the same expression, so that it is the same number.
    low[axis] = box[axis] * place[a] / grid[a];
    high[axis] = box[axis] * (place[a] + 1) / grid[a];
  }
}

int domain::neighbor(int axis, int side) const {
  auto at = place;
  const auto a = static_cast<std::size_t>(axis);
  at[a] = (at[a] + side + grid[a]) % grid[a];
  return (at[0] * grid[1] + at[1]) * grid[2] + at[2];
}

double domain::shift(int axis, int side) const {
  const auto a = static_cast<std::size_t>(axis);
  if (side < 0) return place[a] == 0 ? box[axis] : 0.0;
  return place[a] == grid[a] - 1 ? -box[axis] : 0.0;
}

bool domain::contains(const vec3& p) const {
  return p.x >= low.x && p.x < high.x && p.y >= low.y && p.y < high.y && p.z >= low.z &&
         p.z < high.z;
}

}  // namespace md
