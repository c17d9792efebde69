// Minimum effective task granularity (Slaughter et al., SC 20; OpenSHMEM active messages paper,
// section 4.2): the shortest tasks with which a machine still does half of the useful work that it
// could. One source, over weft's ranks, over ranks with loop tasks, over MPI; over weft's tasks, futures and parcels,
// over oneTBB, over OpenSHMEM. metg/part.hpp, task_part.hpp and shmem_part.hpp run the tasks; here is how long they take, and what is asked for.
//
// Options (or METG_<OPTION> in the environment):
//   --pattern NAME,...   (all)      --kernel compute|memory|imbalance   (compute)
//   --columns N per rank (1)        --width N of all ranks              (0: columns x ranks)
//   --radix N            (5)        --imbalance 0..2                    (1.0)
//   --bytes N of outputs (16)       --scratch BYTES per column          (1 MiB)
//   --steps N            (0: as many as give 5 ms)
//   --backend ready,steps,tasks     (weft: ready,tasks; MPI: steps, the way of Task Bench)
//             spawn,futures,parcels of weft; spawn of oneTBB; signals,get,am,am-wait of OpenSHMEM (Open MPI: the first two)
//   --iterations N,...   (none: look for the METG; else only the efficiencies with tasks of N)
//   --task-us US         likewise, with tasks that take about so long
//   --curve 1            efficiency at every granularity up to 97 % or 100 us, for table and plot
//   --spoil 1            every output is wrong: ends well when every task has said so
#include <algorithm>
#include <cmath>
#include <cstring>

#include "adapter.hpp"
#ifdef BENCH_OVER_TBB
#include "metg/task_part.hpp"
#elif defined BENCH_OVER_SHMEM
#include "metg/shmem_part.hpp"
#else
#include "metg/part.hpp"
#ifndef BENCH_OVER_MPI
#include "metg/weft_part.hpp"
#endif
#endif

namespace {

// One granularity, measured.
struct point {
  double granularity_us = 0;  // Time of a task, if cores did nothing else.
  double efficiency = 0;
};

// Collective; the same on all ranks. The reachable time is measured before every run, because
// processors change their pace; of three runs the best counts.
point measure(bench::peers& p, auto& part, const metg::settings& how, long iterations) {
  constexpr double sample_ns = 5e6;
  long steps = how.steps > 0 ? how.steps : 8;
  double took = 0;
  while (took = bench::time_of(p, [&] { part.run(steps, iterations); }),
         how.steps == 0 && took < sample_ns)
    steps = static_cast<long>(static_cast<double>(steps) *
                              std::clamp(1.2 * sample_ns / std::max(took, 1.0), 1.5, 16.0));
  point best;
  const auto tasks = static_cast<double>(part.tasks(steps));
  const double end = bench::clock_ns() + bench::seconds_per_row() * 1e9;
  for (int repetition = 0; repetition < 3; ++repetition) {
    const double perfect = part.perfect(steps, iterations);
    took = bench::time_of(p, [&] { part.run(steps, iterations); });
    if (perfect / took > best.efficiency || repetition == 0)
      best = {took / 1e3 * metg::cores_of(p) / tasks, perfect / took};
    if (p.bcast(bench::clock_ns() > end ? 1.0 : 0.0, 0) != 0) break;
  }
  return best;
}

// Collective. The granularity at which the efficiency is `share`, between two measured ones.
double find_metg(bench::peers& p, auto& part, const metg::settings& how, double share) {
  point below;
  for (long iterations = 1;; iterations *= 2) {
    const point now = measure(p, part, how, iterations);
    if (now.efficiency >= share || iterations > (1L << 30)) {
      if (below.granularity_us == 0 || now.efficiency <= below.efficiency)
        return now.granularity_us;
      const double between = (share - below.efficiency) / (now.efficiency - below.efficiency);
      return below.granularity_us * std::pow(now.granularity_us / below.granularity_us, between);
    }
    below = now;
  }
}

// The name of a back end in the rows; what a library does by itself has none.
std::string variant_of(metg::backend backend) {
  const auto usual = bench::over_weft   ? metg::backend::ready
                     : bench::has_ranks ? metg::backend::steps
                                        : metg::backend::spawn;
  if (backend == usual) return "";
  for (const metg::backend_name& one : metg::backends)
    if (one.which == backend) return std::string("-") + one.name;
  return "";
}

// What is asked for: the METG, efficiencies, or the efficiency with tasks of one length.
struct question {
  std::vector<long> iterations;
  std::string task_us;
  bool curve;
};

void measure_pattern(bench::peers& p, auto& part, const metg::settings& how,
                     const question& asked) {
  const std::string width = how.width % p.size() == 0 ? std::to_string(how.width / p.size()) + "c"
                                                      : std::to_string(how.width) + "w";
  const std::string suffix =
      how.pattern + "/" + width + (how.kernel == "compute" ? "" : "/" + how.kernel);
  if (!bench::wanted("metg/" + suffix)) return;
  const auto setup = bench::setup_of(p, variant_of(how.backend));
  const auto row = [&](const std::string& name, const char* unit,
                       const std::vector<double>& samples) {
    if (p.rank() == 0) bench::print_row(name, setup, unit, samples);
  };
  const auto efficiency = [&](const std::string& task, long iterations, int times) {
    std::vector<double> granularities, efficiencies;
    while (times-- > 0) {
      const point now = measure(p, part, how, iterations);
      granularities.push_back(now.granularity_us);
      efficiencies.push_back(100 * now.efficiency);
    }
    row("metg/granularity/" + suffix + "/" + task, "us", granularities);
    row("metg/efficiency/" + suffix + "/" + task, "%", efficiencies);
    return point{granularities.back(), efficiencies.back() / 100};
  };
  if (asked.task_us != "0") {
    efficiency(asked.task_us + "us", part.iterations_for(std::atof(asked.task_us.c_str())), 9);
    return;
  }
  if (!asked.iterations.empty()) {
    for (const long n : asked.iterations) efficiency(std::to_string(n), n, 1);
    return;
  }
  if (asked.curve) {
    constexpr double enough = 0.97, long_us = 100;  // Not all reach all of the machine.
    for (long n = 1;; n *= 2) {
      const point now = efficiency(std::to_string(n), n, 1);
      if (now.efficiency > enough || now.granularity_us > long_us) return;
    }
  }
  const double end = bench::clock_ns() + bench::seconds_per_row() * 1e9;
  std::vector<double> samples;
  while (samples.size() < 5) {
    samples.push_back(find_metg(p, part, how, 0.5));
    if (p.bcast(bench::clock_ns() > end ? 1.0 : 0.0, 0) != 0) break;
  }
  row("metg/" + suffix, "us", samples);
}

// Collective: whether the tasks found at their inputs what they should have, nothing or everything wrong.
bool all_looked(bench::peers& p, auto& part, const metg::settings& how) {
  const metg::findings found = part.take_findings();
  const double due = p.sum(found.due), inputs = p.sum(found.inputs), wrong = p.sum(found.wrong);
  if (inputs == due && wrong == (how.spoil ? due : 0)) return true;
  if (!found.first_wrong.empty())
    std::fprintf(stderr, "metg: rank %d: %s\n", p.rank(), found.first_wrong.c_str());
  if (p.rank() == 0)
    std::fprintf(stderr, "metg: %s: of %g inputs %g were looked at and %g found wrong, not %g\n",
                 how.pattern.c_str(), due, inputs, wrong, how.spoil ? due : 0.0);
  return false;
}

// Calls use() with what runs the tasks by the back end that is asked for.
template <class Use>
void with_part(bench::peers& p, const metg::settings& how, Use&& use) {
  const auto of = [&]<class Part>(std::type_identity<Part>) {
    Part part(p, how);
    use(part);
  };
  switch (how.backend) {
#if defined BENCH_OVER_TBB
    case metg::backend::spawn:
      return of(std::type_identity<metg::spawn_part<bench::tbb_group>>());
    default:
      return;
#else
#if !defined BENCH_OVER_MPI && !defined BENCH_OVER_SHMEM
    case metg::backend::spawn:
      return of(std::type_identity<metg::spawn_part<metg::weft_group>>());
    case metg::backend::futures:
      return of(std::type_identity<metg::future_part>());
    case metg::backend::parcels:
      return of(std::type_identity<metg::parcel_part>());
#endif
    default:
      return of(std::type_identity<metg::part>());
#endif
  }
}

class option_reader {
 public:
  option_reader(int argc, char** argv) : words_(argv + 1, argv + argc) {}
  std::string operator()(const std::string& name, const char* otherwise) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (words_[i] == "--" + name && i + 1 < words_.size()) return words_[i + 1];
      if (words_[i].rfind("--" + name + "=", 0) == 0) return words_[i].substr(name.size() + 3);
    }
    std::string variable = "METG_" + name;
    for (char& c : variable)
      c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return bench::setting(variable.c_str(), otherwise);
  }
  [[nodiscard]] long number(const std::string& name, const char* otherwise, long least) const {
    return std::max(least, std::atol((*this)(name, otherwise).c_str()));
  }

 private:
  std::vector<std::string> words_;
};

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    words.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  return words;
}

}  // namespace

int main(int argc, char** argv) {
  const option_reader option(argc, argv);
  std::string all;
  for (const std::string& pattern : metg::patterns()) all += pattern + ",";
  const metg::settings how{
      .pattern = "",
      .kernel = option("kernel", "compute"),
      .backend = metg::backend::ready,
      .width = static_cast<int>(option.number("width", "0", 0)),
      .radix = static_cast<int>(option.number("radix", "5", 1)),
      .imbalance = std::atof(option("imbalance", "1").c_str()),
      .bytes = static_cast<std::size_t>(option.number("bytes", "16", 16)),
      .steps = option.number("steps", "0", 0),
      .scratch = static_cast<std::size_t>(option.number("scratch", "1048576", 0)),
      .spoil = option.number("spoil", "0", 0) != 0};
  const auto columns = static_cast<int>(option.number("columns", "1", 1));
  const auto patterns = words_of(option("pattern", all.c_str()));
  const auto backends =
      words_of(option("backend", bench::over_weft             ? "ready,tasks"
                                 : bench::has_active_messages ? "signals,get,am,am-wait"
                                 : bench::over_shmem          ? "signals,get"
                                 : bench::has_ranks           ? "steps"
                                                              : "spawn"));
  std::vector<long> iterations;
  for (const std::string& n : words_of(option("iterations", "")))
    if (std::atol(n.c_str()) > 0) iterations.push_back(std::atol(n.c_str()));
  const question asked{iterations, option("task-us", "0"), option.number("curve", "0", 0) != 0};
  int failed = 0;  // Only rank 0 says so, and writes here.
  const int status = bench::run(argc, argv, [&](bench::peers& p) {
    for (const std::string& pattern : patterns)
      for (const std::string& backend : backends) {
        metg::settings here = how;
        here.pattern = pattern;
        here.backend = metg::backend_named(backend);
        if (here.width == 0) here.width = columns * p.size();
        with_part(p, here, [&](auto& part) {
          measure_pattern(p, part, here, asked);
          if (!all_looked(p, part, here) && p.rank() == 0) failed = 1;
        });
      }
  });
  return status != 0 ? status : failed;
}
