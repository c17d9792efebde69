#include "octree/checks.hpp"

#include <algorithm>
#include <cmath>

namespace octree {
namespace {

// Sums of few powers of two: exact, as are their averages and differences.
double linear(std::size_t f, const vec3& x) {
  return 64.0 + static_cast<double>(f) + 8 * x[0] - 4 * x[1] + 2 * x[2];
}

}  // namespace

linear_check check_linear_field(exchange& between, const physics& p) {
  locality own(p.start, p.levels, between.here(), between.localities());
  for (const int index : own.own_leaves())
    for (std::size_t cell = 0; cell < cells; ++cell)
      for (std::size_t f = 0; f < fields; ++f)
        own.leaf(index).u[f * cells + cell] =
            linear(f, middle_of(own.nodes()[index], cell / 64, cell / 8 % 8, cell % 8));
  own.prepare_field();
  between.substep(own);
  linear_check found;
  for (const int index : own.own_leaves())
    for (int number = own.links().first_in(index); number < own.links().last_in(index); ++number) {
      const link& l = own.links()[number];
      if (fed_by(l.kind) != stage::flux) continue;
      const std::size_t edge = l.kind == link_kind::restricted ? side / 2 : side;
      const std::size_t first_b = l.quarter / 2 * edge, first_c = l.quarter % 2 * edge;
      const double cell = cell_width(own.nodes()[index].level);
      std::size_t at = 0;
      for (std::size_t f = 0; f < fields; ++f)
        for (int layer = 0; layer < static_cast<int>(ghost_layers); ++layer)
          for (std::size_t b = first_b; b < first_b + edge; ++b)
            for (std::size_t c = first_c; c < first_c + edge; ++c) {
              const std::size_t in_leaf = cell_in_layer(axis_of(l.place), 0, b, c);
              vec3 x = middle_of(own.nodes()[index], in_leaf / 64, in_leaf / 8 % 8, in_leaf % 8);
              x[static_cast<std::size_t>(axis_of(l.place))] +=
                  cell * (is_upper(l.place) ? width + layer : layer - 2);
              ++found.values;
              found.wrong += own.inbox(l)[at++] != linear(f, x);
            }
    }
  const std::vector<std::uint64_t> mine{found.values, found.wrong};
  const std::vector<std::uint64_t> all = between.concatenated(mine);
  found = {};
  for (std::size_t i = 0; i < all.size(); i += 2) {
    found.values += all[i];
    found.wrong += all[i + 1];
  }
  return found;
}

double check_potential(simulation& of, const binary& start) {
  double worst[1] = {0};
  const locality& own = of.own();
  for (const int index : own.own_leaves())
    for (std::size_t cell = 0; cell < cells; ++cell) {
      const vec3 x = middle_of(own.nodes()[index], cell / 64, cell / 8 % 8, cell % 8);
      double exact = 0;
      for (const star& one : start.stars)
        exact += one.potential_at(
            std::hypot(x[0] - one.center[0], x[1] - one.center[1], x[2] - one.center[2]));
      worst[0] = std::max(worst[0], std::abs(own.leaf(index).potential[cell] / exact - 1));
    }
  of.between().largest(worst);
  return worst[0];
}

// Of second order in the cells in a star's radius.
double potential_tolerance(const binary& start, int levels) noexcept {
  const double share = cell_width(levels) / std::min(start.stars[0].radius, start.stars[1].radius);
  return std::max(2 * share * share, 0.01);
}

double mass_error(const totals& first, const totals& now) noexcept {
  return std::abs(now.mass + now.lost - first.mass - first.lost) / first.mass;
}

}  // namespace octree
