// Spheres that move through the unit cube and turn round at its walls: where they are follows from the time alone. Without weft, since
// the MPI form of the program includes it.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "front/random_bits.hpp"
#include "octree/tree.hpp"

namespace amr {

using point = std::array<double, 3>;

struct sphere {
  point centre{};
  double radius = 0;
};

class moving_spheres {
 public:
  // Spheres of 0.1 to 0.2 that move by `speed` in a unit of time; `seed` decides where and whither.
  moving_spheres(int count, double speed, std::uint64_t seed) {
    std::uint64_t next = seed << 20;
    const auto uniform = [&] { return static_cast<double>(front::mixed(next++) >> 11) * 0x1p-53; };
    for (int i = 0; i < count; ++i) {
      sphere s{{uniform(), uniform(), uniform()}, 0.1 + 0.1 * uniform()};
      point way{};
      double length = 0;
      for (double& along : way) {
        along = uniform() - 0.5;
        length += along * along;
      }
      for (double& along : way) along *= speed / std::sqrt(std::max(length, 1e-6));
      starts_.push_back(s);
      ways_.push_back(way);
    }
  }

  [[nodiscard]] std::vector<sphere> at(double time) const {
    std::vector<sphere> now = starts_;
    for (std::size_t i = 0; i < now.size(); ++i)
      for (std::size_t axis = 0; axis < 3; ++axis) {
        // The way to and fro between the walls has twice the room's length.
        const double room = 1 - 2 * now[i].radius;
        double along = std::fmod(room * starts_[i].centre[axis] + ways_[i][axis] * time, 2 * room);
        if (along < 0) along += 2 * room;
        now[i].centre[axis] = now[i].radius + std::min(along, 2 * room - along);
      }
    return now;
  }

 private:
  std::vector<sphere> starts_;  // Centres in shares of the room that they have.
  std::vector<point> ways_;
};

[[nodiscard]] inline bool is_within(const point& p, const std::vector<sphere>& spheres) {
  return std::ranges::any_of(spheres, [&](const sphere& s) {
    double distance2 = 0;
    for (std::size_t axis = 0; axis < 3; ++axis)
      distance2 += (p[axis] - s.centre[axis]) * (p[axis] - s.centre[axis]);
    return distance2 < s.radius * s.radius;
  });
}

// Whether a sphere's surface passes through the cube of a node of the tree.
[[nodiscard]] inline bool meets_surface(octree::node_key key, const std::vector<sphere>& spheres) {
  const octree::index3 at = octree::place_of(key);
  const double edge = 1.0 / (1 << octree::level_of(key));
  return std::ranges::any_of(spheres, [&](const sphere& s) {
    double nearest = 0, farthest = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double low = at[axis] * edge, high = low + edge, c = s.centre[axis];
      const double near = std::max({low - c, 0.0, c - high});
      const double far = std::max(c - low, high - c);
      nearest += near * near;
      farthest += far * far;
    }
    return nearest <= s.radius * s.radius && s.radius * s.radius <= farthest;
  });
}

}  // namespace amr
