#include "md/crystal.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace md {
namespace {

// A random number in (0, 1) that depends on its arguments only (the mixing steps of SplitMix64).
double random_of(std::uint64_t seed, std::uint64_t id, std::uint64_t draw) {
  std::uint64_t z = seed * 0x9e3779b97f4a7c15u + id * 8 + draw + 1;
  for (int round = 0; round < 2; ++round) {
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
  }
  return (static_cast<double>(z >> 11) + 0.5) * 0x1p-53;
}

double normal_of(std::uint64_t seed, std::uint64_t id, std::uint64_t axis) {
  const double radius = std::sqrt(-2.0 * std::log(random_of(seed, id, 2 * axis)));
  return radius * std::cos(2.0 * std::numbers::pi * random_of(seed, id, 2 * axis + 1));
}

bool inside(const vec3& position, const sphere& s, const vec3& box) {
  vec3 d = position - s.center;
  for (int axis = 0; axis < 3; ++axis) d[axis] -= box[axis] * std::round(d[axis] / box[axis]);
  return dot(d, d) < s.radius * s.radius;
}

}  // namespace

vec3 crystal::box() const {
  return {cells[0] * lattice_constant, cells[1] * lattice_constant, cells[2] * lattice_constant};
}

std::uint64_t crystal::sites() const {
  return 4u * static_cast<std::uint64_t>(cells[0]) * static_cast<std::uint64_t>(cells[1]) *
         static_cast<std::uint64_t>(cells[2]);
}

std::vector<sphere> spread_voids(int count, double radius, const vec3& box) {
  // A sequence that fills space evenly: multiples of 1/g, 1/g², 1/g³ with g⁴ = g + 1.
  constexpr double g = 1.2207440846057596;
  std::vector<sphere> voids;
  for (int i = 0; i < count; ++i) {
    const vec3 u{std::fmod(0.5 + i / g, 1.0), std::fmod(0.5 + i / (g * g), 1.0),
                 std::fmod(0.5 + i / (g * g * g), 1.0)};
    // Along x a sphere may reach a quarter of its radius into the other half, so that no wall
    // of solid crystal is left at its border.
    const double margin = std::min(0.75 * radius, 0.25 * box.x);
    const double x = 0.5 * box.x + margin + u.x * (0.5 * box.x - 2 * margin);
    voids.push_back({{x, u.y * box.y, u.z * box.z}, radius});
  }
  return voids;
}

atom_store make_atoms(const crystal& crystal, const domain& where, double mass, double temperature,
                      std::uint64_t seed) {
  const double a = crystal.lattice_constant;
  const double width = std::sqrt(boltzmann_ev_per_k * temperature / (mass * mass_velocity2_to_ev));
  // A quarter cell off the origin, so that no lattice plane lies on the border of a block.
  constexpr double basis[4][3] = {
      {0.25, 0.25, 0.25}, {0.75, 0.75, 0.25}, {0.75, 0.25, 0.75}, {0.25, 0.75, 0.75}};
  int first[3], last[3];
  for (int axis = 0; axis < 3; ++axis) {
    first[axis] = std::max(0, static_cast<int>(where.low[axis] / a) - 1);
    last[axis] = std::min(crystal.cells[static_cast<std::size_t>(axis)] - 1,
                          static_cast<int>(where.high[axis] / a) + 1);
  }
  atom_store atoms;
  for (int x = first[0]; x <= last[0]; ++x)
    for (int y = first[1]; y <= last[1]; ++y)
      for (int z = first[2]; z <= last[2]; ++z)
        for (std::uint64_t b = 0; b < 4; ++b) {
          const vec3 position{(x + basis[b][0]) * a, (y + basis[b][1]) * a, (z + basis[b][2]) * a};
          if (!where.contains(position)) continue;
          if (std::any_of(crystal.voids.begin(), crystal.voids.end(),
                          [&](const sphere& s) { return inside(position, s, where.box); }))
            continue;
          const auto row =
              static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(crystal.cells[1]) +
              static_cast<std::uint64_t>(y);
          const std::uint64_t id =
              (row * static_cast<std::uint64_t>(crystal.cells[2]) + static_cast<std::uint64_t>(z)) *
                  4 +
              b;
          atoms.add(
              id, position,
              width * vec3{normal_of(seed, id, 0), normal_of(seed, id, 1), normal_of(seed, id, 2)});
        }
  return atoms;
}

}  // namespace md
