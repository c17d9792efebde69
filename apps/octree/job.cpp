#include "octree/job.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <set>
#include <string>

#include "front/interrupt.hpp"
#include "front/output_file.hpp"
#include "front/progress_bar.hpp"
#include "octree/checks.hpp"
#include "octree/picture.hpp"
#include "octree/vtk.hpp"

namespace octree {
namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

unsigned long long number(std::uint64_t of) {
  return of;
}

struct row {
  int step = 0;
  double time = 0, dt = 0;
  std::size_t leaves = 0;
  totals sums;
};

void print_header() {
  std::printf("%8s %12s %10s %8s %14s %12s %12s %14s\n", "step", "time", "dt", "leaves", "mass",
              "lost", "kinetic", "total energy");
}
void print_row(const row& r) {
  std::printf("%8d %12.6f %10.3e %8zu %14.9f %12.3e %12.6f %14.6f\n", r.step, r.time, r.dt,
              r.leaves, r.sums.mass, r.sums.lost, r.sums.kinetic, r.sums.energy());
  std::fflush(stdout);
}

// Of several localities, in their order: messages of each kind.
std::array<traffic, traffic_kinds> added(exchange& between) {
  const auto mine = between.sent();
  const auto all = between.concatenated(std::vector<traffic>(mine.begin(), mine.end()));
  std::array<traffic, traffic_kinds> sum{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    traffic& to = sum[i % traffic_kinds];
    to.here += all[i].here;
    to.away += all[i].away;
    to.bytes_here += all[i].bytes_here;
    to.bytes_away += all[i].bytes_away;
  }
  return sum;
}

void print_traffic(const std::array<traffic, traffic_kinds>& sent) {
  std::printf("%-20s %12s %12s %14s\n", "messages", "within", "between", "bytes, mean");
  for (std::size_t kind = 0; kind < traffic_kinds; ++kind) {
    const traffic& t = sent[kind];
    if (t.here + t.away == 0) continue;
    std::printf(
        "  %-18s %12llu %12llu %14.0f\n",
        kind < link_kinds ? name_of(static_cast<link_kind>(kind)) : "blocks of regrids",
        number(t.here), number(t.away),
        static_cast<double>(t.bytes_here + t.bytes_away) / static_cast<double>(t.here + t.away));
  }
}

double sum_of_all(exchange& between, double mine) {
  double sum = 0;
  for (const double one : between.concatenated(std::vector<double>{mine})) sum += one;
  return sum;
}

}  // namespace

outcome run_star(exchange& between, const program_options& o, std::uint64_t process) {
  const bool first = between.here() == 0;
  // What cannot be written should be known before the run.
  std::optional<front::output_file> csv, vtk;
  if (first && !o.csv_path.empty()) csv.emplace(o.csv_path);
  if (first && !o.vtk_path.empty()) vtk.emplace(o.vtk_path);
  if (first && !o.picture_path.empty()) front::output_file{o.picture_path};

  outcome result;
  linear_check layers;
  if (o.checks) layers = check_linear_field(between, o.star);
  simulation s(between, o.star);
  const double potential = o.checks ? check_potential(s, o.star.start) : 0;
  const std::vector<std::uint64_t> processes = between.concatenated(std::vector{process});
  const auto process_count = std::set(processes.begin(), processes.end()).size();

  const totals start = s.measure();
  row now{0, 0, 0, s.own().nodes().leaves().size(), start};
  if (csv) {
    csv->begin();
    csv->print(
        "step,time,dt,leaves,mass,lost,kinetic,internal,gravitational,momentum_x,momentum_y,"
        "momentum_z\n");
  }
  std::optional<front::progress_bar> progress;
  const auto report = [&] {
    if (!first) return;
    progress->clear();
    print_row(now);
    if (!csv) return;
    csv->print("%d,%.17g,%.17g,%zu,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n", now.step,
               now.time, now.dt, now.leaves, now.sums.mass, now.sums.lost, now.sums.kinetic,
               now.sums.internal, now.sums.gravitational, now.sums.momentum[0],
               now.sums.momentum[1], now.sums.momentum[2]);
    csv->flush();
  };
  if (first) {
    std::printf("binary star, levels %d to %d: %d nodes, %zu leaves, %zu cells\n",
                o.star.levels.base, s.own().nodes().depth(), s.own().nodes().size(), now.leaves,
                now.leaves * cells);
    std::printf("%d localities in %zu process%s, %d worker%s each, exchange by %s\n",
                between.localities(), process_count, process_count == 1 ? "" : "es", o.workers,
                o.workers == 1 ? "" : "s", between.name());
    print_header();
    progress.emplace(static_cast<std::uint64_t>(o.steps));
  }
  report();

  // Counted from here on.
  const auto before = added(between);
  const double busy_before = sum_of_all(between, s.own().busy_seconds());
  const auto begin = clock::now();
  for (bool is_last = o.steps == 0; !is_last;) {
    result.signal = s.step(front::interrupted());
    is_last = s.steps() == o.steps || result.signal != 0;
    if (s.steps() % o.report_every == 0 || is_last) {
      now = {s.steps(), s.time(), s.last_dt(), s.own().nodes().leaves().size(), s.measure()};
      report();
    }
    if (!is_last) s.regrid_when_due();
    if (progress) progress->show(static_cast<std::uint64_t>(s.steps()));
  }
  const double seconds = seconds_since(begin);
  const double busy = sum_of_all(between, s.own().busy_seconds()) - busy_before;
  auto sent = added(between);
  double away = 0, bytes_away = 0;
  for (std::size_t kind = 0; kind < traffic_kinds; ++kind) {
    sent[kind].here -= before[kind].here;
    sent[kind].away -= before[kind].away;
    sent[kind].bytes_here -= before[kind].bytes_here;
    sent[kind].bytes_away -= before[kind].bytes_away;
    away += static_cast<double>(sent[kind].away);
    bytes_away += static_cast<double>(sent[kind].bytes_away);
  }
  const std::uint64_t hash = s.hash();
  const double mass = mass_error(start, now.sums);
  const double tolerance = potential_tolerance(o.star.start, o.star.levels.levels);
  result.right = mass < mass_tolerance && layers.wrong == 0 && potential < tolerance;

  if (first) {
    progress->clear();
    if (s.steps() < o.steps)
      std::printf("interrupted          after %d of %d steps\n", s.steps(), o.steps);
    print_traffic(sent);
    std::vector<double> waits = s.reductions();
    std::ranges::sort(waits);
    if (!waits.empty())
      std::printf(
          "reduction of dt      median %.0f us, 99 of 100 within %.0f us, with what ranks wait "
          "for each other\n",
          1e6 * waits[waits.size() / 2], 1e6 * waits[waits.size() * 99 / 100]);
    std::printf("regrids              %d\n", s.regrids());
    std::printf("mass                 changed by %.1e of itself (%s %.0e)\n", mass,
                mass < mass_tolerance ? "below" : "ABOVE", mass_tolerance);
    if (o.checks) {
      std::printf("linear field         %llu values beyond faces, %llu wrong\n",
                  number(layers.values), number(layers.wrong));
      std::printf("potential            off by %.1e at most from that of the stars (%s %.0e)\n",
                  potential, potential < tolerance ? "below" : "ABOVE", tolerance);
    }
    const double idle = 1 - busy / (seconds * o.workers * static_cast<double>(process_count));
    std::printf("time                 %.3f s", seconds);
    if (s.steps() > 0)
      std::printf(", %.3f steps/s, %.0f messages/s and %.1f MB/s between localities, %.1f %% idle",
                  s.steps() / seconds, away / seconds, 1e-6 * bytes_away / seconds,
                  100 * std::max(idle, 0.0));
    std::printf("\nhash                 %016llx\n", number(hash));
  }

  if (!o.picture_path.empty()) {
    const std::vector<leaf_record> leaves = between.concatenated(s.own().records(true));
    char title[160];
    std::snprintf(title, sizeof title, "binary star, step %d, time %.4f, %zu leaves, %d localities",
                  s.steps(), s.time(), s.own().nodes().leaves().size(), between.localities());
    if (first) {
      std::vector<plane_leaf> plane;
      for (const leaf_record& leaf : leaves) {
        plane_leaf& one =
            plane.emplace_back(plane_leaf{leaf.key, static_cast<int>(leaf.owner), {}});
        for (std::size_t i = 0; i < face_cells; ++i) one.values[i] = leaf.density[width * i];
      }
      draw_plane(o.picture_path, plane, title, {});
      std::printf("picture              %s\n", o.picture_path.c_str());
    }
  }
  if (!o.vtk_path.empty()) {
    const std::vector<leaf_record> leaves = between.concatenated(s.own().records(false));
    if (vtk) {
      vtk->begin();
      write_vtk(*vtk, leaves, s.time());
      std::printf("cells                %s\n", o.vtk_path.c_str());
    }
  }
  return result;
}

}  // namespace octree
