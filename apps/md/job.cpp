#include "md/job.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "front/interrupt.hpp"
#include "front/workers.hpp"
#include "md/output.hpp"
#include "md/picture.hpp"

namespace md {
namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

constexpr int trend_every = 10;  // Steps between two samples of the total energy.

void print_start(const eam_kernel& kernel, const program_options& o, const simulation& s,
                 const thermo& t, const std::vector<std::size_t>& work, int processes) {
  const auto& grid = s.block().grid;
  const auto& cells = o.physics.solid.cells;
  std::printf("%s, cutoff %.3f Å, %s kernels\n", kernel.potential().path.c_str(),
              kernel.potential().cutoff, kernel.instruction_set());
  std::printf("%llu atoms of %s in %d x %d x %d cells of %.4f Å, %d void%s, tasks %s\n",
              static_cast<unsigned long long>(t.atoms), o.element.c_str(), cells[0], cells[1],
              cells[2], o.physics.solid.lattice_constant, o.void_count,
              o.void_count == 1 ? "" : "s", o.tasks ? "on" : "off");
  std::string where = std::to_string(o.workers) + (o.workers == 1 ? " worker" : " workers");
  if (processes > 1) where += " in each of " + std::to_string(processes) + " processes";
  std::printf("%d x %d x %d ranks on %s; stealing can win at most %.2f times\n", grid[0], grid[1],
              grid[2], where.c_str(), front::sharing_limit(work, o.workers, processes));
  std::printf("%10s %10s %12s %16s %16s %14s\n", "step", "time, ps", "temp., K", "potential, eV",
              "total, eV", "pressure, bar");
}

void print_thermo(const thermo& t, double picoseconds) {
  std::printf("%10llu %10.4f %12.4f %16.6f %16.6f %14.4f\n",
              static_cast<unsigned long long>(t.step), picoseconds, t.temperature, t.potential,
              t.total(), t.pressure);
}

void print_end(const program_options& o, const simulation& s, const thermo& first,
               const thermo& last, const energy_trend& trend, double seconds) {
  const auto steps = static_cast<unsigned long long>(last.step);
  const double atom_steps = static_cast<double>(last.atoms) * static_cast<double>(steps);
  if (steps < static_cast<unsigned long long>(o.steps))
    std::printf("interrupted                after %llu of %d steps\n", steps, o.steps);
  std::printf("potential energy at start  %.6f eV/atom\n",
              first.potential / static_cast<double>(first.atoms));
  const double drift = trend.relative_drift();
  std::printf("energy drift               %.2e of the total in %llu steps (fitted; %s 1e-5)\n",
              drift, steps, std::abs(drift) < 1e-5 ? "below" : "ABOVE");
  // Relative to what it would be if all atoms moved the same way with their thermal speed.
  const double speed_scale =
      std::sqrt(2 * last.kinetic * mass_velocity2_to_ev * static_cast<double>(last.atoms));
  const double momentum = std::sqrt(dot(last.momentum, last.momentum)) * mass_velocity2_to_ev;
  std::printf("momentum                   %.2e of the thermal scale\n",
              speed_scale > 0 ? momentum / speed_scale : momentum);
  std::printf("neighbour lists            built %llu times\n",
              static_cast<unsigned long long>(s.rebuilds()));
  std::printf("time                       %.3f s", seconds);
  if (steps > 0) std::printf(", %.1f ns per atom and step", 1e9 * seconds / atom_steps);
  std::printf("\n");
}

}  // namespace

int run_crystal(weft::communicator& ranks, const eam_kernel& kernel, const program_options& o) {
  const bool first_rank = ranks.rank() == 0;
  // What cannot be written should be known before the run, not after it; and nothing is written over for a run
  // that is refused.
  std::optional<output_file> csv, xyz;
  if (first_rank && !o.csv_path.empty()) csv.emplace(o.csv_path);
  if (first_rank && !o.dump_path.empty()) xyz.emplace(o.dump_path);
  if (first_rank && !o.picture_path.empty()) output_file{o.picture_path};
  simulation s(ranks, kernel, o.physics, o.tasks);
  if (xyz) xyz->begin();
  if (csv) {
    csv->begin();
    write_thermo_header(*csv);
  }
  const auto picoseconds = [&](std::uint64_t step) {
    return static_cast<double>(step) * o.physics.timestep;
  };
  const auto dump = [&] {
    const auto atoms = s.gather_atoms();
    if (!xyz) return;
    write_frame(*xyz, atoms, o.element, o.physics.solid.box(), picoseconds(s.steps()));
    xyz->flush();
  };
  const thermo first = s.measure();
  thermo last = first;
  const std::vector<std::size_t> work = ranks.allgather(s.listed_neighbors());
  const int processes = front::processes_of(ranks);
  energy_trend trend;
  std::optional<progress_bar> progress;
  const auto report = [&] {
    if (!first_rank) return;
    progress->clear();
    print_thermo(last, picoseconds(last.step));
    std::fflush(stdout);
    if (!csv) return;
    write_thermo(*csv, last, picoseconds(last.step));
    csv->flush();
  };
  trend.add(0, first.total());
  if (first_rank) {
    print_start(kernel, o, s, first, work, processes);
    progress.emplace(static_cast<std::uint64_t>(o.steps));
  }
  report();

  ranks.barrier();
  const auto start = clock::now();
  double output_seconds = 0;
  bool is_last = o.steps == 0;
  int signal = 0;
  for (int step = 1; !is_last; ++step) {
    s.step();
    is_last = step == o.steps;
    if (!is_last && step % trend_every == 0) {
      // It may have come to one process of several.
      signal = ranks.allreduce(front::interrupted(), weft::max{});
      is_last = signal != 0;
    }
    const bool thermo_due = step % o.thermo_every == 0 || is_last;
    if (thermo_due || step % trend_every == 0) {
      last = s.measure();
      trend.add(step, last.total());
    }
    if (thermo_due) report();
    if (!o.dump_path.empty() && o.dump_every > 0 && step % o.dump_every == 0 && !is_last) {
      const auto before = clock::now();
      dump();
      output_seconds += seconds_since(before);
    }
    if (progress) progress->show(static_cast<std::uint64_t>(step));
  }
  ranks.barrier();
  const double seconds = seconds_since(start) - output_seconds;
  if (first_rank) {
    progress->clear();
    print_end(o, s, first, last, trend, seconds);
  }
  if (!o.dump_path.empty()) dump();
  if (!o.picture_path.empty()) {
    const auto atoms = s.gather_atoms();
    if (first_rank) {
      char title[160];
      std::snprintf(title, sizeof title,
                    "%s, %zu atoms, %d ranks, %.3f ps, %.0f K, slice %.2f Å thick",
                    o.element.c_str(), atoms.size(), ranks.size(), picoseconds(last.step),
                    last.temperature, o.physics.solid.lattice_constant);
      draw_slice(o.picture_path, atoms, s.block().grid, o.physics.solid.box(),
                 o.physics.solid.lattice_constant, title);
    }
  }
  if (first_rank) {
    const auto written = [](const char* what, const std::string& path) {
      if (!path.empty()) std::printf("%-26s %s\n", what, path.c_str());
    };
    written("thermo output", o.csv_path);
    written("atoms", o.dump_path);
    written("picture", o.picture_path);
  }
  return signal;
}

void run_halo_exchange(weft::communicator& ranks, const eam_kernel& kernel,
                       const program_options& o) {
  simulation s(ranks, kernel, o.physics, o.tasks);
  ranks.barrier();
  const auto start = clock::now();
  for (int i = 0; i < o.steps; ++i) {
    s.halo().forward_positions(s.sites());
    s.halo().forward_slopes(s.sites());
  }
  ranks.barrier();
  if (ranks.rank() != 0) return;
  const auto sites = s.halo().message_subgroups();
  const auto& grid = s.block().grid;
  std::printf("ranks,ranks_x,ranks_y,ranks_z,sites_x,sites_y,sites_z,exchanges,exchange_us\n");
  std::printf("%d,%d,%d,%d,%zu,%zu,%zu,%d,%.3f\n", ranks.size(), grid[0], grid[1], grid[2],
              sites[0], sites[2], sites[4], o.steps,
              1e6 * seconds_since(start) / std::max(o.steps, 1));
}

}  // namespace md
