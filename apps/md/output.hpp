// What rank 0 writes: thermo lines, extended XYZ frames, the checks at the end.
#pragma once
#include <string>
#include <vector>

#include "front/output_file.hpp"
#include "front/progress_bar.hpp"
#include "md/simulation.hpp"

namespace md {

using front::output_file;
using front::progress_bar;

void write_thermo_header(output_file& csv);
void write_thermo(output_file& csv, const thermo& t, double picoseconds);
void write_frame(output_file& xyz, const std::vector<atom_record>& atoms,
                 const std::string& element, const vec3& box, double picoseconds);

// The line that fits best through the total energy.
class energy_trend {
 public:
  void add(double step, double energy);
  // Change of the fitted line over the samples' whole range, relative to the energy itself.
  double relative_drift() const;

 private:
  std::vector<double> steps_, energies_;
};

}  // namespace md
