// Tabulated embedded-atom potentials: E = Σ F(ρ_i) + ½ Σ φ(r_ij), ρ_i = Σ ρ(r_ij).
//
// Reads DYNAMO's setfl (.eam.alloy) and funcfl (.eam) formats and turns each table into a cubic
// Hermite spline whose slopes at the knots are five-point differences (three- and two-point ones
// near the ends). LAMMPS interpolates in this way too, which is why both agree to rounding.
#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace md {

// One interval of a spline: value = ((c3 t + c2) t + c1) t + c0, where t in [0, 1] is the position
// within the interval.
struct cubic {
  double c0 = 0, c1 = 0, c2 = 0, c3 = 0;
};

// A uniform table as splines. `values[m]` belongs to x = m * step.
std::vector<cubic> spline_of(const std::vector<double>& values);

struct eam_potential {
  std::string path, element, structure;
  double mass = 0;                  // g/mol
  double lattice_constant = 0;      // Å
  double cutoff = 0;                // Å
  double density_step = 0;          // of the table of F
  double distance_step = 0;         // of the tables of ρ and r φ
  std::vector<cubic> embedding;     // F(ρ), eV
  std::vector<cubic> density;       // ρ(r)
  std::vector<cubic> pair_times_r;  // r φ(r), eV Å

  struct embedding_value {
    double energy, slope;
  };
  // Beyond the table F continues along its last slope. Inline, for the density pass.
  embedding_value embed(double electron_density) const {
    const double per_density = 1.0 / density_step;
    const double place = electron_density * per_density;
    const double last = static_cast<double>(embedding.size() - 1);
    // Truncated as an integer, which is one instruction on every machine.
    const auto piece = static_cast<long>(std::clamp(place, 0.0, last));
    const double t = std::min(place - static_cast<double>(piece), 1.0);
    const cubic& c = embedding[static_cast<std::size_t>(piece)];
    const double slope = ((3.0 * c.c3 * t + 2.0 * c.c2) * t + c.c1) * per_density;
    const double beyond = std::max(electron_density - (last + 1.0) * density_step, 0.0);
    return {((c.c3 * t + c.c2) * t + c.c1) * t + c.c0 + slope * beyond, slope};
  }
};

// `name` is a path, or a file name that is looked up in the current directory, in
// $LAMMPS_POTENTIALS and in Debian's lammps-data. Throws weft::error with file, line and column.
eam_potential read_potential(const std::string& name, const std::string& element = "Cu");

}  // namespace md
