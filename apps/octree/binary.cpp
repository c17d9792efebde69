#include "octree/binary.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "octree/hydro.hpp"

namespace octree {
namespace {

constexpr double pi = std::numbers::pi;

double sine_over(double x) {
  return x < 1e-8 ? 1.0 : std::sin(x) / x;
}

}  // namespace

vec3 middle_of(const node& n, std::size_t i, std::size_t j, std::size_t k) noexcept {
  const double cell = cell_width(n.level);
  const std::size_t in_node[3] = {i, j, k};
  vec3 x{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    x[axis] =
        -0.5 * domain_edge + cell * (n.at[axis] * width + static_cast<double>(in_node[axis]) + 0.5);
  return x;
}

// Lane and Emden's solution for index 1: sin(pi r / R) / (pi r / R).
double star::density_at(double distance) const noexcept {
  if (distance >= radius) return 0;
  return pi * mass / (4 * radius * radius * radius) * sine_over(pi * distance / radius);
}
double star::pressure_at(double distance) const noexcept {
  const double rho = density_at(distance);
  return 2 * radius * radius / pi * rho * rho;
}
double star::potential_at(double distance) const noexcept {
  if (distance >= radius) return -mass / distance;
  return -mass / radius * (1 + sine_over(pi * distance / radius));
}

std::array<double, fields> binary::at(const vec3& x) const noexcept {
  std::array<double, fields> u{};
  u[density] = gas_density;
  double pressure = gas_pressure;
  for (std::size_t s = 0; s < 2; ++s) {
    const star& one = stars[s];
    const double distance =
        std::hypot(x[0] - one.center[0], x[1] - one.center[1], x[2] - one.center[2]);
    const double rho = one.density_at(distance);
    u[density] += rho;
    u[first_star + s] = rho;
    pressure += one.pressure_at(distance);
    for (std::size_t axis = 0; axis < 3; ++axis) u[momentum_x + axis] += rho * one.velocity[axis];
  }
  double squares = 0;
  for (std::size_t axis = 0; axis < 3; ++axis)
    squares += u[momentum_x + axis] * u[momentum_x + axis];
  u[energy] = pressure / (gamma_gas - 1) + 0.5 * squares / u[density];
  return u;
}

double binary::density_max() const noexcept {
  return gas_density + std::max(stars[0].density_at(0), stars[1].density_at(0));
}

binary make_binary(double ratio, double separation) {
  binary b;
  const double total = 1 + ratio, speed = std::sqrt(total / separation);
  b.stars[0] = {{-separation * ratio / total, 0, 0}, {0, -speed * ratio / total, 0}, 0.25, 1};
  b.stars[1] = {{separation / total, 0, 0}, {0, speed / total, 0}, 0.2, ratio};
  return b;
}

wish refinement::wish_of(int level, double density_max) const noexcept {
  const auto at = [&](int of_level) { return threshold * std::pow(8.0, of_level - (levels - 1)); };
  if (level < levels && density_max > at(level)) return wish::finer;
  if (level > base && density_max < 0.5 * at(level - 1)) return wish::coarser;
  return wish::stay;
}

void fill(const binary& from, const node& leaf, hydro_block& u) {
  for (std::size_t i = 0; i < side; ++i)
    for (std::size_t j = 0; j < side; ++j)
      for (std::size_t k = 0; k < side; ++k) {
        const auto values = from.at(middle_of(leaf, i, j, k));
        for (std::size_t f = 0; f < fields; ++f)
          u[f * cells + i * stride[0] + j * stride[1] + k] = values[f];
      }
}

tree make_tree(const binary& from, const refinement& how, int localities) {
  const auto interior = build(how.base, how.levels, [&](node_key key) {
    node n;
    n.level = level_of(key);
    n.at = place_of(key);
    double most = 0;
    for (std::size_t cell = 0; cell < cells; ++cell)
      most = std::max(most, from.at(middle_of(n, cell / 64, cell / 8 % 8, cell % 8))[density]);
    return how.wish_of(n.level, most) == wish::finer;
  });
  return tree(interior, localities);
}

}  // namespace octree
