// What a run can prove about its own numbers, on the localities and over the exchange that it has.
#pragma once
#include "octree/simulation.hpp"

namespace octree {

// Values beyond faces, of all localities, where cells hold a linear field: all are exact.
struct linear_check {
  std::uint64_t values = 0, wrong = 0;
};
[[nodiscard]] linear_check check_linear_field(exchange& between, const physics& p);

// The largest relative difference of the potential from the solution of Lane and Emden, of a binary that has not moved.
[[nodiscard]] double check_potential(simulation& of, const binary& start);
// What cells of this size and the multipoles may do to it.
[[nodiscard]] double potential_tolerance(const binary& start, int levels) noexcept;

// Change of the mass, with what has left the domain, of itself.
[[nodiscard]] double mass_error(const totals& first, const totals& now) noexcept;
inline constexpr double mass_tolerance = 1e-12;

}  // namespace octree
