// Molecular dynamics of one rank's part of the crystal, in step with all other ranks.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>
#include <weft/weft.hpp>

#include "md/atoms.hpp"
#include "md/crystal.hpp"
#include "md/domain.hpp"
#include "md/forces.hpp"
#include "md/halo.hpp"
#include "md/loops.hpp"
#include "md/neighbors.hpp"

namespace md {

struct physics {
  crystal solid;
  double temperature = 600;  // K, of the initial velocities.
  double timestep = 0.001;   // ps
  double skin = 1.0;         // Å
  // The whole crystal moves with this velocity along x, and with it its voids through the ranks'
  // blocks. Nothing changes for the atoms, whose motion is the same in every inertial frame.
  double drift = 0;      // Å/ps
  double displaced = 0;  // Å; the atom with the lowest id starts this far off its place.
  std::uint64_t seed = 1;
};

// What all ranks together hold at one instant, seen from the drifting frame.
struct thermo {
  std::uint64_t step = 0, atoms = 0;
  double temperature = 0;             // K
  double kinetic = 0, potential = 0;  // eV
  double pressure = 0;                // bar
  double volume = 0;                  // Å³
  vec3 momentum;                      // g/mol Å/ps
  double total() const { return kinetic + potential; }
};

struct atom_record {
  std::uint64_t id;
  vec3 position, velocity;
  double energy;  // Potential energy of this atom, eV.
  int rank;
};

class simulation {
 public:
  // Called by all ranks with the same arguments. The kernel must outlive the simulation.
  simulation(weft::communicator ranks, const eam_kernel& kernel, const physics& physics,
             bool tasks);

  void step();

  // These are collective. Rank 0 receives the records of all atoms ordered by id, others nothing.
  thermo measure();
  std::vector<atom_record> gather_atoms();

  const domain& block() const { return domain_; }
  std::size_t owned() const { return atoms_.owned; }
  // Neighbours of all owned atoms together: what a step costs this rank.
  std::size_t listed_neighbors() const;
  std::uint64_t steps() const { return steps_; }
  std::uint64_t rebuilds() const { return rebuilds_; }
  halo_exchange& halo() { return halo_; }
  std::vector<site>& sites() { return atoms_.sites; }

 private:
  void settle_velocities();
  void rebuild();
  void compute_forces();
  double kick_and_drift(std::size_t begin, std::size_t end);
  void kick(std::size_t begin, std::size_t end);

  weft::communicator ranks_;
  const eam_kernel& kernel_;
  physics physics_;
  atom_loops loops_;
  domain domain_;
  halo_exchange halo_;
  neighbor_finder finder_;
  atom_store atoms_;
  neighbor_list list_;
  eam_kernel::results results_;
  std::vector<vec3> built_at_;  // Positions when the lists were built.
  std::uint64_t atoms_total_ = 0, steps_ = 0, rebuilds_ = 0, built_at_step_ = 0;
};

}  // namespace md
