#include "amr/job.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>

#include "amr/peers.hpp"
#include "front/interrupt.hpp"
#include "front/output_file.hpp"
#include "front/progress_bar.hpp"
#include "front/task_loops.hpp"
#include "front/workers.hpp"
#include "octree/picture.hpp"

namespace amr {
namespace {

using clock = std::chrono::steady_clock;
using rank_simulation = simulation<rank_peers, front::task_loops>;

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

struct row {
  int step = 0;
  std::size_t blocks = 0;
  double limit = 1;  // What sharing blocks among workers could win.
  double change = 0;
  totals all;
};

void print_row(const row& r) {
  std::printf("%8d %8zu %14.2f %14.9f %12.1e %10.4f %10.4f\n", r.step, r.blocks, r.limit,
              r.all.sums[0], r.change, r.all.least, r.all.most);
  std::fflush(stdout);
}

void draw(weft::communicator& ranks, const rank_simulation& s, const std::string& path) {
  std::vector<octree::plane_leaf> mine;
  for (std::size_t i = 0; i < s.own().blocks().size(); ++i) {
    const octree::node& node = s.nodes()[s.own().blocks()[i].node];
    if (node.at[2] != 1 << node.level >> 1) continue;
    octree::plane_leaf& one = mine.emplace_back(octree::plane_leaf{node.key, ranks.rank(), {}});
    for (std::size_t cell = 0; cell < face_cells; ++cell)
      one.values[cell] = static_cast<float>(s.values(i, 0)[side * cell]);
  }
  const std::vector<octree::plane_leaf> leaves = ranks.gatherv(mine, 0);
  if (ranks.rank() != 0) return;
  octree::plane_look look{"rank", "variable 0", false, {}};
  for (const sphere& one : s.spheres()) {
    const double height = one.centre[2] - 0.5;
    if (std::abs(height) < one.radius)
      look.circles.push_back(
          {one.centre[0], one.centre[1], std::sqrt(one.radius * one.radius - height * height)});
  }
  char title[160];
  std::snprintf(title, sizeof title, "%zu blocks of levels up to %d, step %d, %d ranks",
                s.nodes().leaves().size(), s.nodes().depth(), s.steps(), ranks.size());
  octree::draw_plane(path, leaves, title, look);
  std::printf("picture              %s\n", path.c_str());
}

}  // namespace

outcome run_steps(weft::communicator& ranks, const program_options& o) {
  const bool first_rank = ranks.rank() == 0;
  // What cannot be written should be known before the run.
  std::optional<front::output_file> csv;
  if (first_rank && !o.csv_path.empty()) csv.emplace(o.csv_path);
  if (first_rank && !o.picture_path.empty()) front::output_file{o.picture_path};

  const int processes = front::processes_of(ranks);

  rank_peers peers(ranks);
  rank_simulation s(o.physics, peers, front::task_loops(o.tasks));
  const totals start = s.measure();
  const auto limit = [&] {
    return front::sharing_limit(s.blocks_of_ranks(), o.workers, processes);
  };
  row now{0, s.nodes().leaves().size(), limit(), 0, start};
  std::optional<front::progress_bar> progress;
  const auto report = [&] {
    if (!first_rank) return;
    progress->clear();
    print_row(now);
    if (!csv) return;
    csv->print("%d,%zu,%.6f,%.17g,%.3g,%.17g,%.17g,%016llx\n", now.step, now.blocks, now.limit,
               now.all.sums[0], now.change, now.all.least, now.all.most,
               static_cast<unsigned long long>(now.all.hash));
    csv->flush();
  };
  if (first_rank) {
    std::printf(
        "blocks of 8 x 8 x 8 cells of %zu variables, levels %d to %d, %d moving sphere%s, tasks %s\n",
        o.physics.variables, o.physics.base, o.physics.levels, o.physics.objects,
        o.physics.objects == 1 ? "" : "s", o.tasks ? "on" : "off");
    std::printf("%d rank%s on %d worker%s", ranks.size(), ranks.size() == 1 ? "" : "s", o.workers,
                o.workers == 1 ? "" : "s");
    if (processes > 1) std::printf(" in each of %d processes", processes);
    std::printf("\n%8s %8s %14s %14s %12s %10s %10s\n", "step", "blocks", "sharing wins", "sum",
                "changed by", "least", "most");
    if (csv) {
      csv->begin();
      csv->print("step,blocks,sharing_limit,sum,change,least,most,hash\n");
    }
    progress.emplace(static_cast<std::uint64_t>(o.steps));
  }
  report();

  outcome result;
  double block_steps = 0, limits = 0, measuring = 0;
  ranks.barrier();
  const auto begin = clock::now();
  for (bool is_last = o.steps == 0; !is_last;) {
    s.step();
    block_steps += static_cast<double>(s.nodes().leaves().size());
    limits += now.limit;
    is_last = s.steps() == o.steps;
    if (s.steps() % o.report_every == 0 || is_last) {
      const auto before = clock::now();
      // It may have come to one process of several.
      result.signal = ranks.allreduce(front::interrupted(), weft::max{});
      is_last = is_last || result.signal != 0;
      now = {s.steps(), s.nodes().leaves().size(), limit(), 0, s.measure()};
      now.change = change_of_sums(start, now.all);
      report();
      measuring += seconds_since(before);
    }
    if (!is_last && s.regrid_when_due()) now.limit = limit();
    if (progress) progress->show(static_cast<std::uint64_t>(s.steps()));
  }
  ranks.barrier();
  const double seconds = seconds_since(begin) - measuring;

  const double change = change_of_sums(start, now.all);
  // Diffusion makes no new extremes.
  const bool in_bounds = now.all.least >= start.least - 1e-12 && now.all.most <= start.most + 1e-12;
  result.hash = now.all.hash;
  result.right = change < sum_tolerance && in_bounds;
  if (first_rank) {
    progress->clear();
    if (s.steps() < o.steps)
      std::printf("interrupted          after %d of %d steps\n", s.steps(), o.steps);
    std::printf("regrids              %d\n", s.regrids());
    std::printf(
        "sums                 of %zu variables changed by %.1e of themselves at most (%s %.0e)\n",
        o.physics.variables, change, change < sum_tolerance ? "below" : "ABOVE", sum_tolerance);
    std::printf("bounds               variable 0 is %s those of the start\n",
                in_bounds ? "within" : "OUT OF");
    if (s.steps() > 0)
      std::printf("sharing              can win at most %.2f times, on the average of the steps\n",
                  limits / s.steps());
    std::printf("time                 %.6f s", seconds);
    if (s.steps() > 0)
      std::printf(", %.1f ns per cell, variable and step",
                  1e9 * seconds / (block_steps * cells * static_cast<double>(o.physics.variables)));
    std::printf("\nhash                 %016llx\n", static_cast<unsigned long long>(result.hash));
  }
  if (!o.picture_path.empty()) draw(ranks, s, o.picture_path);
  if (csv) std::printf("table                %s\n", o.csv_path.c_str());
  return result;
}

}  // namespace amr
