#include "md/output.hpp"

#include <cmath>

namespace md {

void write_thermo_header(output_file& csv) {
  csv.print("step,time_ps,temperature_k,kinetic_ev,potential_ev,total_ev,pressure_bar,atoms\n");
}

void write_thermo(output_file& csv, const thermo& t, double picoseconds) {
  csv.print("%llu,%.6g,%.6f,%.9f,%.9f,%.9f,%.6f,%llu\n", static_cast<unsigned long long>(t.step),
            picoseconds, t.temperature, t.kinetic, t.potential, t.total(), t.pressure,
            static_cast<unsigned long long>(t.atoms));
}

void write_frame(output_file& xyz, const std::vector<atom_record>& atoms,
                 const std::string& element, const vec3& box, double picoseconds) {
  xyz.print("%zu\n", atoms.size());
  xyz.print(
      "Lattice=\"%.9g 0 0 0 %.9g 0 0 0 %.9g\" pbc=\"T T T\" Time=%.6g "
      "Properties=species:S:1:pos:R:3:velo:R:3:energy:R:1:rank:I:1:id:I:1\n",
      box.x, box.y, box.z, picoseconds);
  for (const atom_record& a : atoms)
    xyz.print("%s %.9f %.9f %.9f %.9f %.9f %.9f %.9f %d %llu\n", element.c_str(), a.position.x,
              a.position.y, a.position.z, a.velocity.x, a.velocity.y, a.velocity.z, a.energy,
              a.rank, static_cast<unsigned long long>(a.id));
}

void energy_trend::add(double step, double energy) {
  steps_.push_back(step);
  energies_.push_back(energy);
}

double energy_trend::relative_drift() const {
  const auto n = static_cast<double>(steps_.size());
  if (n < 2) return 0;
  double mean_step = 0, mean_energy = 0;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    mean_step += steps_[i] / n;
    mean_energy += energies_[i] / n;
  }
  double covariance = 0, variance = 0;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    covariance += (steps_[i] - mean_step) * (energies_[i] - mean_energy);
    variance += (steps_[i] - mean_step) * (steps_[i] - mean_step);
  }
  const double slope = variance > 0 ? covariance / variance : 0.0;
  return slope * (steps_.back() - steps_.front()) / std::abs(mean_energy);
}

}  // namespace md
