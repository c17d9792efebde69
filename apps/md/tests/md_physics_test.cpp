// The physics of weft-md against LAMMPS and against itself.
//
// Tests that need a real potential are skipped where Debian's lammps-data is missing.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "md/output.hpp"
#include "md/simulation.hpp"

namespace md {
namespace {

const std::string potentials = "/usr/share/lammps/potentials/";
const std::string mishin = "Cu_mishin1.eam.alloy", universal = "Cu_u3.eam";

#define REQUIRE_POTENTIAL(name)                      \
  if (!std::filesystem::exists(potentials + (name))) \
  GTEST_SKIP() << potentials + (name) << " is missing: apt install lammps-data"

physics copper(int cells) {
  physics p;
  p.solid.cells = {cells, cells, cells};
  p.solid.lattice_constant = 3.615;
  return p;
}

struct outcome {
  thermo first, last;
  std::vector<atom_record> atoms;
  double energy_drift = 0;
};

outcome simulate(const physics& p, int ranks, int steps, bool tasks,
                 const std::string& potential_name = mishin,
                 instructions set = best_instructions()) {
  const eam_potential potential = read_potential(potentials + potential_name);
  const eam_kernel kernel(potential, set);
  weft::options options;
  options.ranks = ranks;
  outcome result;
  const int status = weft::run(options, [&](weft::communicator& world) {
    simulation s(world, kernel, p, tasks);
    energy_trend trend;
    const thermo first = s.measure();
    thermo last = first;
    trend.add(0, first.total());
    for (int step = 1; step <= steps; ++step) {
      s.step();
      if (step % 10 != 0 && step != steps) continue;
      last = s.measure();
      trend.add(step, last.total());
    }
    auto atoms = s.gather_atoms();
    if (world.rank() == 0) result = {first, last, std::move(atoms), trend.relative_drift()};
  });
  EXPECT_EQ(status, 0);
  return result;
}

struct static_figures {
  double potential, pressure, force;
};

// Potential energy (eV), pressure (bar) and largest force (eV/Å) of 6 x 6 x 6 cells as LAMMPS gives
// them; nothing where it is not installed.
std::optional<static_figures> ask_lammps(const std::string& potential_name, double displaced) {
  if (std::system("command -v lmp >/dev/null") != 0) return std::nullopt;
  const bool setfl = potential_name.ends_with(".alloy");
  const auto script =
      std::filesystem::temp_directory_path() / ("weft-md-" + std::to_string(getpid()) + ".lammps");
  std::ofstream(script) << "units metal\natom_style atomic\nboundary p p p\nlattice fcc 3.615\n"
                        << "region b block 0 6 0 6 0 6\ncreate_box 1 b\ncreate_atoms 1 box\n"
                        << "pair_style " << (setfl ? "eam/alloy" : "eam") << "\npair_coeff * * "
                        << potentials << potential_name << (setfl ? " Cu" : "") << "\n"
                        << "group one id 1\ndisplace_atoms one move " << displaced
                        << " 0 0 units box\nthermo_style custom step pe press fmax\n"
                        << "thermo_modify format float %20.15g\nrun 0\n";
  std::FILE* lammps =
      popen(("OMP_NUM_THREADS=1 lmp -log none -in " + script.string() + " 2>&1").c_str(), "r");
  std::string output;
  char line[512];
  std::optional<static_figures> found;
  while (std::fgets(line, sizeof line, lammps) != nullptr) {
    static_figures f{};
    if (output.find("PotEng") != std::string::npos && !found &&
        std::sscanf(line, " 0 %lf %lf %lf", &f.potential, &f.pressure, &f.force) == 3)
      found = f;
    output += line;
  }
  pclose(lammps);
  std::filesystem::remove(script);
  EXPECT_TRUE(found) << "LAMMPS said:\n" << output;
  return found;
}

// `recorded` is what LAMMPS (29 Sep 2021, Debian 12) gave.
void expect_lammps_figures(const std::string& potential_name, double displaced,
                           const static_figures& recorded) {
  physics p = copper(6);
  p.temperature = 0;
  p.displaced = displaced;
  const outcome ours = simulate(p, 2, 0, true, potential_name);
  const auto n = static_cast<double>(ours.first.atoms);
  ASSERT_EQ(ours.first.atoms, 864u);
  const auto expect_same = [&](const static_figures& theirs) {
    EXPECT_NEAR(ours.first.potential / n, theirs.potential / n, 1e-6);
    EXPECT_NEAR(ours.first.pressure, theirs.pressure, 1.0);
  };
  expect_same(recorded);
  if (const auto theirs = ask_lammps(potential_name, displaced)) expect_same(*theirs);
}

TEST(md_physics, cohesive_energy_of_mishin_copper_is_3_54_ev) {
  REQUIRE_POTENTIAL(mishin);
  physics p = copper(4);
  p.temperature = 0;
  const outcome o = simulate(p, 1, 0, false);
  EXPECT_NEAR(o.first.potential / static_cast<double>(o.first.atoms), -3.54, 5e-4);
}

TEST(md_physics, perfect_lattice_agrees_with_lammps) {
  REQUIRE_POTENTIAL(mishin);
  expect_lammps_figures(mishin, 0.0, {-3058.74862026269, -86.025760549828, 0});
}

TEST(md_physics, displaced_atom_agrees_with_lammps) {
  REQUIRE_POTENTIAL(mishin);
  expect_lammps_figures(mishin, 0.1, {-3058.71189799243, -67.3711872492427, 0.7382236061729});
}

TEST(md_physics, funcfl_potential_agrees_with_lammps) {
  REQUIRE_POTENTIAL(universal);
  expect_lammps_figures(universal, 0.0, {-3058.56000196872, -0.0278603748690856, 0});
  expect_lammps_figures(universal, 0.1, {-3058.52484291323, 18.2783627159571, 0.705470455465124});
}

TEST(md_physics, force_is_the_slope_of_the_energy) {
  REQUIRE_POTENTIAL(mishin);
  physics p = copper(4);
  p.temperature = 0;
  const auto energy_at = [&](double displaced) {
    p.displaced = displaced;
    return simulate(p, 1, 0, false).first.potential;
  };
  const double slope = (energy_at(0.1001) - energy_at(0.0999)) / 0.0002;
  // After one step of an atom at rest, v = f dt / m, and its position moved by half of that.
  p.displaced = 0.1;
  const outcome o = simulate(p, 1, 1, false);
  const double force = o.atoms.front().velocity.x * 63.55 * mass_velocity2_to_ev / p.timestep;
  EXPECT_NEAR(force, -slope, 2e-3);
  EXPECT_NEAR(force, -0.7382236061729, 2e-3);  // LAMMPS' figure at the start of the step.
}

TEST(md_physics, energy_and_momentum_are_conserved_for_1000_steps_at_600_k) {
  REQUIRE_POTENTIAL(mishin);
  const outcome o = simulate(copper(6), 2, 1000, true);
  EXPECT_LT(std::abs(o.energy_drift), 1e-5);
  EXPECT_NEAR(o.last.total(), o.first.total(), 1e-5 * std::abs(o.first.total()));
  for (int axis = 0; axis < 3; ++axis) EXPECT_NEAR(o.last.momentum[axis], 0, 1e-6);
  // Half of the kinetic energy went into the springs.
  EXPECT_NEAR(o.first.temperature, 600, 1e-6);
  EXPECT_NEAR(o.last.temperature, 300, 40);
}

double largest_distance(const outcome& a, const outcome& b, const vec3& box) {
  EXPECT_EQ(a.atoms.size(), b.atoms.size());
  double largest = 0;
  for (std::size_t i = 0; i < std::min(a.atoms.size(), b.atoms.size()); ++i) {
    EXPECT_EQ(a.atoms[i].id, b.atoms[i].id);
    for (int axis = 0; axis < 3; ++axis) {
      const double d = a.atoms[i].position[axis] - b.atoms[i].position[axis];
      largest = std::max(largest, std::abs(d - box[axis] * std::round(d / box[axis])));
    }
  }
  return largest;
}

// Fits 7 ranks in a row and 4 x 2 x 2 ranks.
physics bar_of_copper() {
  physics p = copper(7);
  p.solid.cells = {13, 7, 7};
  return p;
}

TEST(md_physics, positions_do_not_depend_on_the_number_of_ranks_nor_on_tasks) {
  REQUIRE_POTENTIAL(mishin);
  const physics p = bar_of_copper();
  const outcome reference = simulate(p, 1, 100, false);
  ASSERT_EQ(reference.atoms.size(), 13u * 7 * 7 * 4);
  for (const int ranks : {1, 2, 7, 16})
    for (const bool tasks : {false, true})
      EXPECT_LT(largest_distance(reference, simulate(p, ranks, 100, tasks), p.solid.box()), 1e-9)
          << ranks << " ranks, tasks " << tasks;
}

TEST(md_physics, every_instruction_set_gives_the_same_crystal) {
  REQUIRE_POTENTIAL(mishin);
  const physics p = copper(5);
  const outcome reference = simulate(p, 1, 50, false, mishin, instructions::portable);
  for (const auto set : {instructions::avx2, instructions::avx512}) {
    if (set > best_instructions()) break;
    const outcome o = simulate(p, 1, 50, false, mishin, set);
    EXPECT_LT(largest_distance(reference, o, p.solid.box()), 1e-10);
    EXPECT_NEAR(o.last.potential, reference.last.potential, 1e-8);
    EXPECT_NEAR(o.last.pressure, reference.last.pressure, 1e-4);
  }
}

TEST(md_physics, voids_take_away_most_atoms_of_the_upper_half_only) {
  REQUIRE_POTENTIAL(mishin);
  physics p = copper(10);
  p.solid.voids = spread_voids(40, 0.2 * p.solid.box().x, p.solid.box());
  const outcome o = simulate(p, 2, 20, true);
  double lower = 0, upper = 0;
  for (const auto& a : o.atoms) (a.position.x < 0.5 * p.solid.box().x ? lower : upper) += 1;
  const double imbalance = 2 * lower / (lower + upper);
  EXPECT_GT(imbalance, 1.6);
  EXPECT_GT(lower, 0.9 * 2000);
  EXPECT_GT(upper, 0);
  EXPECT_LT(std::abs(o.energy_drift), 1e-5);
}

TEST(md_physics, drifting_crystal_moves_as_one_at_rest) {
  REQUIRE_POTENTIAL(mishin);
  physics p = bar_of_copper();
  p.solid.voids = spread_voids(2, 5.0, p.solid.box());
  outcome at_rest = simulate(p, 4, 100, true);
  p.drift = 120;  // 12 Å in 100 steps, past the end of a block.
  const outcome drifting = simulate(p, 4, 100, true);
  for (auto& a : at_rest.atoms) a.position.x += 12.0;
  EXPECT_LT(largest_distance(at_rest, drifting, p.solid.box()), 1e-9);
  EXPECT_NEAR(at_rest.last.total(), drifting.last.total(), 1e-6);
  EXPECT_NEAR(drifting.last.momentum.x, 0, 1e-6);
  // The voids did reach other ranks.
  int moved = 0;
  for (std::size_t i = 0; i < at_rest.atoms.size(); ++i)
    moved += at_rest.atoms[i].rank != drifting.atoms[i].rank;
  EXPECT_GT(moved, 100);
}

TEST(md_physics, velocities_follow_the_seed) {
  REQUIRE_POTENTIAL(mishin);
  physics p = copper(4);
  const outcome a = simulate(p, 1, 0, false), again = simulate(p, 2, 0, false);
  p.seed = 2;
  const outcome other = simulate(p, 1, 0, false);
  EXPECT_NEAR(a.atoms[5].velocity.x, again.atoms[5].velocity.x, 1e-12);
  EXPECT_GT(std::abs(a.atoms[5].velocity.x - other.atoms[5].velocity.x), 1e-6);
}

}  // namespace
}  // namespace md
