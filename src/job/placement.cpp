#include "job/placement.hpp"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "base/rank_map.hpp"
#include "base/settings.hpp"
#include "base/topology.hpp"
#include "job/worker_of_rank.hpp"
#include "weft/error.hpp"

namespace weft::detail {
namespace {

bool each_rank_has_worker = false;  // Written before there are other threads.

// Why workers of this job stay on their threads although options::moving lets them move; empty: they need not.
std::string why_bound(const options& how) {
  if (how.schedule) return "a schedule is of one worker";
  if (how.check) return "--check looks at the locks that each thread holds";
  return {};
}

// Looked at once, before workers are planned.
void settle_moving(options& how, bool tells) {
  if (how.moving == "off") return;
  const std::string why = why_bound(how);
  if (why.empty()) return;
  how.moving = "off";
  if (tells) log_line("moving: workers stay on their threads, since {}", why);
}

// How many workers that move `ranks` need on so many cores: one for each rank as long as a thread can look at all of
// its workers in little time, else one for a few. Of several processes on a host each worker has a ring for each worker of
// the others.
int moving_workers(int ranks, int cores, int processes_of_host) noexcept {
  constexpr int ranks_of_worker_max = 4, workers_of_core = 16, workers_of_core_max = 60;
  constexpr int workers_of_host_max = 64;
  int each = 1;
  while (each < ranks_of_worker_max && (ranks + each - 1) / each > workers_of_core * cores)
    each *= 2;
  const int most = processes_of_host == 1
                       ? workers_max
                       : std::max(cores, workers_of_host_max / processes_of_host);
  return std::max(1, std::min({(ranks + each - 1) / each, workers_of_core_max * cores, most}));
}

// The workers of one process, on the hardware threads that are its own.
scheduler_options plan_workers(const options& how, const std::vector<hardware_thread>& threads) {
  scheduler_options plan;
  const int cores = static_cast<int>(threads.size());
  const int all = how.workers + how.helpers;
  if (all > workers_max)
    throw error(std::to_string(all) + " workers and helpers: the limit is " +
                std::to_string(workers_max) + "; start fewer of them, or more processes");
  for (int i = 0; i < all; ++i) {
    const hardware_thread& place = threads[static_cast<std::size_t>(i % cores)];
    // With more workers than cores, pinning would only keep the kernel from balancing them.
    plan.cores.push_back(how.pin && all <= cores ? place.cpu : -1);
    plan.nodes.push_back(place.numa_node);
  }
  plan.stack_bytes = how.stack_bytes;
  if (how.spin_us != spin_us_auto) plan.spin_ns = static_cast<std::uint64_t>(how.spin_us) * 1000;
  plan.is_crowded = all > cores;
  if (how.moving != "off" && all > cores) plan.threads = cores;
  plan.always_moves = how.moving == "always";
  plan.steal = how.steal == "near"     ? steal_mode::near
               : how.steal == "sticky" ? steal_mode::sticky
                                       : steal_mode::random;
  plan.seed = how.schedule;
  return plan;
}

placement place_in_one_process(options& how) {
  const topology& machine = machine_topology();
  const int cores = static_cast<int>(machine.threads.size());
  settle_moving(how, true);
  if (how.workers == 0 && how.moving != "off" && how.ranks > cores)
    how.workers = std::max(cores, moving_workers(how.ranks, cores, 1));
  if (how.workers == 0) how.workers = how.ranks == 0 ? cores : std::min(cores, how.ranks);
  if (how.ranks == 0) how.ranks = how.workers;
  how.workers = each_rank_has_worker ? how.ranks : std::min(how.workers, how.ranks);
  if (how.schedule) {
    if (each_rank_has_worker && how.ranks > 1)
      throw error(
          "a schedule has one worker, and each rank of this program needs one of its own, for its thread-local variables: build it "
          "with weftcc (mpicc), or leave out the schedule");
    how.workers = 1;  // One interleaving is one thread.
    how.helpers = 0;
  }
  placement all;
  all.faces = own_faces();
  all.worker_count = how.workers;
  all.workers = plan_workers(how, machine.threads);
  for (const int worker : map_ranks(how.map, how.ranks, how.workers))
    all.of_rank.push_back({0, worker});
  return all;
}

// What all processes must agree on, in words that show a difference.
std::string settings_in_common(const options& how) {
  std::string text;
  for (const char* name : {"ranks", "ranks-per-process", "workers", "map", "eager-max",
                           "on-failure", "transport", "reorder"})
    text += formatted("{} {}, ", name, find_setting(name)->text(how));
  text.resize(text.size() - 2);
  return text;
}

void check_agreement(const std::vector<std::string>& settings, int process) {
  for (std::size_t p = 1; p < settings.size(); ++p) {
    if (settings[p] == settings[0]) continue;
    if (process != 0) throw error("");
    throw error(
        formatted("the processes of the job disagree: process 0 has {}; process {} has {}; "
                  "give all the same settings",
                  settings[0], p, settings[p]));
  }
}

std::string list_of_cores(const topology& machine) {
  std::string text;
  for (const hardware_thread& t : machine.threads) text += std::to_string(t.cpu) + ' ';
  return text;
}

// Processes of one node that may use the same cores share them out.
struct share {
  std::size_t first = 0;
  std::size_t count = 1;
  bool is_crowded = false;  // Others have the same core.
};
share share_of(int process, bootstrap& between, const std::vector<std::string>& cores) {
  std::size_t index = 0;
  std::size_t sharers = 0;
  const auto& mine = cores[static_cast<std::size_t>(process)];
  for (int p = 0; p < between.process_count(); ++p) {
    if (between.node_of(p) != between.node_of(process) ||
        cores[static_cast<std::size_t>(p)] != mine)
      continue;
    index += p < process;
    ++sharers;
  }
  const auto all = static_cast<std::size_t>(std::count(mine.begin(), mine.end(), ' '));
  if (all <= sharers) return {index % std::max<std::size_t>(all, 1), 1, all < sharers};
  return {all * index / sharers, all * (index + 1) / sharers - all * index / sharers};
}

// The job's programs; one where the launcher names none.
std::vector<job_part> parts_of(const options& how, bootstrap& between) {
  const std::span<const job_part> several = between.parts();
  if (several.empty()) return {{how.ranks, between.process_count()}};
  int ranks = 0;
  for (const job_part& part : several) ranks += part.ranks;
  // All processes find the same; the first tells it.
  const auto refuse = [&](const std::string& why) {
    throw error(between.process() == 0 ? why : "");
  };
  if (ranks != how.ranks)
    refuse(formatted(
        "the job has {} ranks in {} programs, and one of these asks for {}: leave the number to weftrun",
        ranks, several.size(), how.ranks));
  if (how.map != "block" && how.map != "cyclic")
    refuse(formatted(
        "map {}: a file numbers the ranks of one program, and the job has {}: give block or cyclic",
        how.map, several.size()));
  return {several.begin(), several.end()};
}

placement place_in_processes(options& how, bootstrap& between, const std::string& run) {
  const int processes = between.process_count();
  const int process = between.process();
  if (how.schedule)
    throw error("a schedule is repeatable in one process only; this job has " +
                std::to_string(processes));
  settle_moving(how, process == 0);
  const topology& machine = machine_topology();
  between.put(run + "settings", settings_in_common(how));
  between.put(run + "cores", list_of_cores(machine));
  // Programs of one job may differ, and a process of one rank differs from others of its program.
  constexpr const char* of_rank = "of-rank";
  between.put(run + "workers", each_rank_has_worker ? of_rank : how.moving);
  tell_faces(between, run);
  between.fence();
  std::vector<std::string> settings;
  std::vector<std::string> cores;
  std::vector<std::string> workers;
  for (int p = 0; p < processes; ++p) {
    settings.push_back(between.get(p, run + "settings"));
    cores.push_back(between.get(p, run + "cores"));
    workers.push_back(between.get(p, run + "workers"));
  }
  const auto processes_of_host = [&](int of) {
    int count = 0;
    for (int p = 0; p < processes; ++p) count += between.node_of(p) == between.node_of(of) ? 1 : 0;
    return count;
  };
  check_agreement(settings, process);

  if (how.ranks == 0) {
    const long all = long{processes} * std::max(how.ranks_per_process, 1);
    if (all > ranks_max)
      throw error(formatted("{} processes of {} ranks each are {} ranks: the limit is {}",
                            processes, how.ranks_per_process, all, ranks_max));
    how.ranks = static_cast<int>(all);
  }
  const std::vector<job_part> parts = parts_of(how, between);

  placement all;
  all.faces = learn_faces(between, run);
  all.process = process;
  all.process_count = processes;
  int first_process = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const job_part& part = parts[i];
    const int ranks_at_most = (part.ranks + part.processes - 1) / part.processes;
    const auto workers_of = [&](int p) {
      const std::string& its = workers[static_cast<std::size_t>(p)];
      if (its == of_rank) return ranks_at_most;
      int wanted = how.workers;
      if (wanted == 0) {
        wanted = static_cast<int>(share_of(p, between, cores).count);
        if (its != "off" && ranks_at_most > wanted)
          wanted = std::max(wanted, moving_workers(ranks_at_most, wanted, processes_of_host(p)));
      }
      return std::min(wanted, ranks_at_most);
    };
    const int next_part = first_process + part.processes;
    int workers_most = 1;
    for (int p = first_process; p < next_part; ++p)
      workers_most = std::max(workers_most, workers_of(p));
    // The map counts the most workers for every process; those of a process with fewer take more.
    for (const int home : map_ranks(how.map, part.ranks, part.processes * workers_most)) {
      const int p = first_process + home / workers_most;
      all.of_rank.push_back({p, home % workers_most * workers_of(p) / workers_most});
    }
    if (process >= first_process && process < next_part) {
      all.part = static_cast<int>(i);
      all.worker_count = workers_of(process);
    }
    first_process = next_part;
  }
  const share mine = share_of(process, between, cores);
  const auto first = machine.threads.begin() + static_cast<std::ptrdiff_t>(mine.first);
  how.workers = all.worker_count;
  all.workers = plan_workers(how, {first, first + static_cast<std::ptrdiff_t>(mine.count)});
  all.workers.is_crowded = all.workers.is_crowded || mine.is_crowded;
  return all;
}

}  // namespace

void give_each_rank_a_worker() noexcept {
  each_rank_has_worker = true;
}

placement place_ranks(options& how, bootstrap* between, const std::string& run) {
  if (between == nullptr || between->process_count() == 1) return place_in_one_process(how);
  placement all = place_in_processes(how, *between, run);
  all.job_id = between->job_id();
  return all;
}

}  // namespace weft::detail
