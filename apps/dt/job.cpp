#include "dt/job.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "dt/peers.hpp"
#include "dt/picture.hpp"
#include "front/interrupt.hpp"
#include "front/output_file.hpp"
#include "front/progress_bar.hpp"
#include "front/task_loops.hpp"
#include "front/workers.hpp"

namespace dt {
namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

unsigned long long number(std::uint64_t of) {
  return of;
}

// Closes the interval before when the next one begins.
class diary {
 public:
  diary(int node, clock::time_point start) : node_(node), start_(start) {}
  void begin(activity what) {
    const double now = seconds_since(start_);
    if (!intervals_.empty()) intervals_.back().end = now;
    intervals_.push_back({node_, what, now, now});
  }
  [[nodiscard]] std::vector<interval> end() {
    if (!intervals_.empty()) intervals_.back().end = seconds_since(start_);
    return std::move(intervals_);
  }

 private:
  int node_;
  clock::time_point start_;
  std::vector<interval> intervals_;
};

double busy_seconds(const std::vector<interval>& intervals) {
  double busy = 0;
  for (const interval& one : intervals)
    if (one.what != activity::waiting) busy += one.end - one.begin;
  return busy;
}

void print_start(const wave_plan& plan, const program_options& o, int ranks, int processes) {
  std::printf(
      "%s, class %c: %d nodes in %zu layers, streams of %zu samples, deviation %zu, tasks %s\n",
      name_of(o.kind), o.size.letter, plan.nodes.size(), plan.nodes.layers.size(), o.size.samples,
      o.size.deviation, o.tasks ? "on" : "off");
  std::printf("%d ranks on %d worker%s", ranks, o.workers, o.workers == 1 ? "" : "s");
  if (o.helpers > 0) std::printf(" and %d helper%s", o.helpers, o.helpers == 1 ? "" : "s");
  if (processes > 1) std::printf(" in each of %d processes", processes);
  std::printf("\n%6s %12s %18s\n", "wave", "time, s", "checksum");
}

}  // namespace

outcome run_waves(weft::communicator& ranks, const program_options& o) {
  const bool first_rank = ranks.rank() == 0;
  const wave_plan plan = make_plan(o.kind, o.size, o.seed);
  if (plan.nodes.size() > ranks.size())
    throw weft::error(std::string("the ") + name_of(o.kind) + " of class " + o.size.letter +
                      " has " + std::to_string(plan.nodes.size()) + " nodes, but the job has " +
                      std::to_string(ranks.size()) + " ranks: give it a rank for each node, -n " +
                      std::to_string(plan.nodes.size()) + ", or a smaller --class");
  // What cannot be written should be known before the run.
  std::optional<front::output_file> csv;
  if (first_rank && !o.csv_path.empty()) csv.emplace(o.csv_path);
  if (first_rank && !o.picture_path.empty()) front::output_file{o.picture_path};

  const int processes = front::processes_of(ranks);
  std::optional<std::uint64_t> expected = known_checksum(o.kind, o.size.letter, o.seed);
  if (o.check) {
    std::uint64_t computed = first_rank ? run_serially(plan).checksum : 0;
    ranks.bcast(computed, 0);
    if (!expected) expected = computed;
    // The one that is known is right, too, or the program is not.
    if (*expected != computed) expected = std::nullopt;
  }

  const bool has_node = ranks.rank() < plan.nodes.size();
  const front::task_loops loops(o.tasks);
  stream_peers peers(ranks);
  std::optional<front::progress_bar> progress;
  if (first_rank) {
    print_start(plan, o, ranks.size(), processes);
    progress.emplace(static_cast<std::uint64_t>(o.waves));
    if (csv) {
      csv->begin();
      csv->print("graph,class,ranks,workers,processes,tasks,wave,seconds,checksum\n");
    }
  }

  outcome result;
  std::vector<double> times;
  std::vector<interval> intervals;
  wave_result sums;
  bool same = true;
  for (int wave = 1; wave <= o.waves && result.signal == 0; ++wave) {
    ranks.barrier();
    const auto start = clock::now();
    wave_result mine;
    diary did(ranks.rank(), start);
    if (has_node)
      mine = run_node(plan, ranks.rank(), peers, loops, [&](activity what) { did.begin(what); });
    intervals = did.end();
    // It may have come to one process of several. Ranks without a node wait here, and steal.
    std::array<double, 2> both{mine.sent, mine.arrived};
    ranks.allreduce(both, std::plus<>{});
    const double seconds = seconds_since(start);
    const std::uint64_t checksum = ranks.allreduce(mine.checksum, std::plus<>{});
    same = same && (wave == 1 || checksum == sums.checksum);
    sums = {checksum, both[0], both[1]};
    result.signal = ranks.allreduce(front::interrupted(), weft::max{});
    times.push_back(seconds);
    if (!first_rank) continue;
    progress->clear();
    std::printf("%6d %12.6f   %016llx\n", wave, seconds, number(checksum));
    std::fflush(stdout);
    if (csv) {
      csv->print("%s,%c,%d,%d,%d,%s,%d,%.9f,%016llx\n",
                 kind_names[static_cast<std::size_t>(o.kind)].letters, o.size.letter, ranks.size(),
                 o.workers, processes, o.tasks ? "on" : "off", wave, seconds, number(checksum));
      csv->flush();
    }
    progress->show(static_cast<std::uint64_t>(wave));
  }

  const double apart = std::abs(sums.arrived - sums.sent) / std::abs(sums.sent);
  const bool checksum_right =
      same && (!o.check || expected) && (!expected || *expected == sums.checksum);
  result.checksum = sums.checksum;
  result.right = checksum_right && apart < sum_tolerance;
  const double busy = ranks.allreduce(busy_seconds(intervals), std::plus<>{});
  if (first_rank) {
    progress->clear();
    if (times.size() < static_cast<std::size_t>(o.waves))
      std::printf("interrupted          after %zu of %d waves\n", times.size(), o.waves);
    std::printf("sum                  sinks and sources differ by %.1e of it (%s %.0e)\n", apart,
                apart < sum_tolerance ? "below" : "ABOVE", sum_tolerance);
    std::printf("checksum             %016llx, %s\n", number(sums.checksum),
                !checksum_right ? "WRONG"
                : o.check       ? "right: one rank without messages has the same"
                : expected      ? "right"
                                : "the same in all waves; --check compares it");
    if (!o.tasks) {
      const double cores = (o.workers + o.helpers) * processes;
      const double share = busy / (times.back() * cores);
      std::printf(
          "work                 %.0f %% of the workers' time; sharing it can win at most %.2f times\n",
          100 * share, std::clamp(1 / share, 1.0, cores));
    }
    std::ranges::sort(times);
    std::printf("time                 %.6f s a wave (median of %zu), %.6f the shortest\n",
                times[times.size() / 2], times.size(), times.front());
  }
  if (!o.picture_path.empty()) {
    const std::vector<interval> all = ranks.gatherv(intervals, 0);
    if (first_rank) {
      char title[160];
      std::snprintf(title, sizeof title, "%s, class %c, %d ranks on %d worker%s, tasks %s, %.3f ms",
                    name_of(o.kind), o.size.letter, ranks.size(), o.workers * processes,
                    o.workers * processes == 1 ? "" : "s", o.tasks ? "on" : "off",
                    1e3 * (all.empty() ? 0.0 : std::ranges::max(all, {}, &interval::end).end));
      draw_wave(o.picture_path, plan.nodes, all, title);
      std::printf("picture              %s\n", o.picture_path.c_str());
    }
  }
  if (csv) std::printf("times                %s\n", o.csv_path.c_str());
  return result;
}

}  // namespace dt
