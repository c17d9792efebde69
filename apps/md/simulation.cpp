#include "md/simulation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <weft/error.hpp>

namespace md {
namespace {

// Å; far more than an atom moves in a step that can be trusted, far less than a block.
constexpr double step_max = 1.0;

double reach_of(const eam_kernel& kernel, const physics& physics) {
  return kernel.potential().cutoff + physics.skin;
}

}  // namespace

simulation::simulation(weft::communicator ranks, const eam_kernel& kernel, const physics& physics,
                       bool tasks)
    : ranks_(std::move(ranks)),
      kernel_(kernel),
      physics_(physics),
      loops_(tasks),
      domain_(choose_grid(ranks_.size(), physics.solid.box(), reach_of(kernel, physics)),
              ranks_.rank(), physics.solid.box()),
      halo_(ranks_, domain_, reach_of(kernel, physics)),
      finder_(reach_of(kernel, physics)),
      atoms_(make_atoms(physics.solid, domain_, kernel.potential().mass, physics.temperature,
                        physics.seed)) {
  const std::array<std::uint64_t, 2> mine{
      atoms_.owned, atoms_.id.empty() ? UINT64_MAX : *std::ranges::min_element(atoms_.id)};
  atoms_total_ = ranks_.allreduce(mine[0], std::plus<>{});
  if (atoms_total_ < 2)
    throw weft::error("the crystal has " + std::to_string(atoms_total_) +
                      " atoms, but at least 2 are needed; use fewer or smaller --voids");
  if (physics_.displaced != 0) {
    const auto lowest = ranks_.allreduce(mine[1], weft::min{});
    for (std::size_t i = 0; i < atoms_.owned; ++i)
      if (atoms_.id[i] == lowest) atoms_.sites[i].x += physics_.displaced;
  }
  settle_velocities();
  rebuild();
  compute_forces();
}

// Takes out the crystal's own momentum, sets the exact temperature and adds the drift.
void simulation::settle_velocities() {
  std::array<double, 3> sum{};
  for (const vec3& v : atoms_.velocity)
    for (std::size_t axis = 0; axis < 3; ++axis) sum[axis] += v[static_cast<int>(axis)];
  ranks_.allreduce(sum, std::plus<>{});
  const double each = 1.0 / static_cast<double>(atoms_total_);
  const vec3 mean{each * sum[0], each * sum[1], each * sum[2]};
  double squares = 0;
  for (vec3& v : atoms_.velocity) {
    v = v - mean;
    squares += dot(v, v);
  }
  squares = ranks_.allreduce(squares, std::plus<>{});
  const double freedom = 3.0 * static_cast<double>(atoms_total_) - 3.0;
  const double temperature =
      kernel_.potential().mass * mass_velocity2_to_ev * squares / (freedom * boltzmann_ev_per_k);
  const double scale = temperature > 0 ? std::sqrt(physics_.temperature / temperature) : 0.0;
  for (vec3& v : atoms_.velocity) v = scale * v + vec3{physics_.drift, 0, 0};
}

void simulation::rebuild() {
  halo_.migrate(atoms_);
  finder_.sort_atoms(atoms_, domain_.low, domain_.high);
  halo_.build(atoms_);
  finder_.find(atoms_, loops_, list_);
  results_.resize(atoms_.owned);
  built_at_.resize(atoms_.owned);
  for (std::size_t i = 0; i < atoms_.owned; ++i) built_at_[i] = atoms_.position(i);
  built_at_step_ = steps_;
  ++rebuilds_;
}

void simulation::compute_forces() {
  loops_.for_ranges(atoms_.owned, atom_loops::heavy, [this](std::size_t begin, std::size_t end) {
    kernel_.density_pass(atoms_.sites.data(), atoms_.distant(), list_, results_, begin, end);
  });
  // Not within the pass: other chunks read the sites while it runs.
  for (std::size_t i = 0; i < atoms_.owned; ++i)
    atoms_.sites[i].embedding_slope = results_.embedding_slope[i];
  halo_.forward_slopes(atoms_.sites);
  loops_.for_ranges(atoms_.owned, atom_loops::heavy, [this](std::size_t begin, std::size_t end) {
    kernel_.force_pass(atoms_.sites.data(), list_, results_, begin, end);
  });
}

void simulation::kick(std::size_t begin, std::size_t end) {
  const double scale = 0.5 * physics_.timestep / (kernel_.potential().mass * mass_velocity2_to_ev);
  for (std::size_t i = begin; i < end; ++i) atoms_.velocity[i] += scale * results_.force[i];
}

// Returns the square of the largest displacement since the lists were built, in the drifting frame.
double simulation::kick_and_drift(std::size_t begin, std::size_t end) {
  kick(begin, end);
  const double dt = physics_.timestep;
  const vec3 drifted{physics_.drift * dt * static_cast<double>(steps_ - built_at_step_), 0, 0};
  double largest = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const vec3 position = atoms_.position(i) + dt * atoms_.velocity[i];
    atoms_.sites[i].x = position.x;
    atoms_.sites[i].y = position.y;
    atoms_.sites[i].z = position.z;
    const vec3 moved = position - built_at_[i] - drifted;
    largest = std::max(largest, dot(moved, moved));
  }
  return largest;
}

void simulation::step() {
  ++steps_;
  const double largest = ranks_.allreduce(
      loops_.max_over_ranges(
          atoms_.owned, atom_loops::light,
          [this](std::size_t begin, std::size_t end) { return kick_and_drift(begin, end); }),
      weft::max{});
  // Two atoms that approach each other may each have moved half the skin.
  const double half_skin = 0.5 * physics_.skin;
  // Lists were built when the last step had passed half the skin, so this is nearly all one step's.
  // The negation also catches what is not a number.
  if (!(largest < (half_skin + step_max) * (half_skin + step_max)))
    throw weft::error("the atoms flew apart at step " + std::to_string(steps_) +
                      ": one moved by more than 1 Å in a step; use a shorter --dt or a lower "
                      "--temperature");
  // Nobody may drift past the next block, or migration would not find it a home.
  const double drifted =
      std::abs(physics_.drift) * physics_.timestep * static_cast<double>(steps_ - built_at_step_);
  if (largest > half_skin * half_skin || drifted > half_skin + 0.25 * kernel_.potential().cutoff)
    rebuild();
  else
    halo_.forward_positions(atoms_.sites);
  compute_forces();
  loops_.for_ranges(atoms_.owned, atom_loops::light,
                    [this](std::size_t begin, std::size_t end) { kick(begin, end); });
}

std::size_t simulation::listed_neighbors() const {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < atoms_.owned; ++i) sum += list_.count[i];
  return sum;
}

thermo simulation::measure() {
  std::array<double, 6> sums{};  // m v², potential energy, virial, momentum
  const double mass = kernel_.potential().mass;
  for (std::size_t i = 0; i < atoms_.owned; ++i) {
    const vec3 v = atoms_.velocity[i] - vec3{physics_.drift, 0, 0};
    sums[0] += mass * dot(v, v);
    sums[1] += results_.energy[i];
    sums[2] += results_.virial[i];
    for (int axis = 0; axis < 3; ++axis) sums[static_cast<std::size_t>(3 + axis)] += mass * v[axis];
  }
  ranks_.allreduce(sums, std::plus<>{});
  thermo t;
  t.step = steps_;
  t.atoms = atoms_total_;
  const double twice_kinetic = sums[0] * mass_velocity2_to_ev;
  t.kinetic = 0.5 * twice_kinetic;
  t.potential = sums[1];
  t.temperature = twice_kinetic / ((3.0 * static_cast<double>(t.atoms) - 3.0) * boltzmann_ev_per_k);
  t.volume = domain_.box.x * domain_.box.y * domain_.box.z;
  t.pressure = (twice_kinetic + sums[2]) / (3.0 * t.volume) * ev_per_volume_to_bar;
  t.momentum = {sums[3], sums[4], sums[5]};
  return t;
}

std::vector<atom_record> simulation::gather_atoms() {
  constexpr int tag = 100;
  std::vector<atom_record> records;
  for (std::size_t i = 0; i < atoms_.owned; ++i)
    records.push_back(
        {atoms_.id[i], atoms_.position(i), atoms_.velocity[i], results_.energy[i], ranks_.rank()});
  if (ranks_.rank() != 0) {
    ranks_.send(records, 0, tag);
    return {};
  }
  for (int rank = 1; rank < ranks_.size(); ++rank) {
    const auto more = ranks_.recv_vector<atom_record>(rank, tag);
    records.insert(records.end(), more.begin(), more.end());
  }
  std::ranges::sort(records, {}, &atom_record::id);
  for (atom_record& r : records)
    for (int axis = 0; axis < 3; ++axis)
      r.position[axis] -= domain_.box[axis] * std::floor(r.position[axis] / domain_.box[axis]);
  return records;
}

}  // namespace md
