// What every benchmark shares: the CSV row, the figures of a set of samples, the settings of a run,
// the priority. Rows go to stdout and nothing else does; people read stderr.
//
// Settings come from the environment, because launchers forward it and some of them rewrite argv:
//   BENCH_SECONDS   upper bound of one row's repetitions (default 5); a slow rival ends early
//   BENCH_PRIORITY  SCHED_FIFO priority to ask for (default 50; 0: stay in the normal class)
//   BENCH_ONLY      run only rows whose name contains this word
//   BENCH_VARIANT   appended to the peer's name, where one program runs with several settings
//   BENCH_COMMIT    what to write into the commit column
#pragma once
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace bench {

inline constexpr int repetitions_wanted = 15;
inline constexpr int repetitions_min = 3;  // Fewer than that have no median worth the name.

inline std::string setting(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

inline double seconds_per_row() {
  return std::atof(setting("BENCH_SECONDS", "5").c_str());
}

// Rows that BENCH_ONLY leaves out are not run at all.
inline bool wanted(const std::string& name) {
  return name.find(setting("BENCH_ONLY", "")) != std::string::npos;
}

// "8B", "64KiB", "1MiB": sizes as rows name them.
inline std::string size_name(std::size_t bytes) {
  if (bytes >= 1 << 20) return std::to_string(bytes >> 20) + "MiB";
  if (bytes >= 1 << 10) return std::to_string(bytes >> 10) + "KiB";
  return std::to_string(bytes) + "B";
}

// Nanoseconds of the clock that all processes of a machine share.
inline double clock_ns() {
  using namespace std::chrono;
  return static_cast<double>(
      duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

// The same clock in counts of the processor, where Linux takes its time from them. To look at it takes a third of what
// clock_ns() takes, which would be more than a message does.
struct counts {
  [[nodiscard]] static double now() {
#if defined(__x86_64__)
    if (are_time) return static_cast<double>(__builtin_ia32_rdtsc());
#endif
    return clock_ns();
  }
  // Found by the process for itself, at the first call, which takes some time: let one rank ask for all.
  [[nodiscard]] static double ns_each() {
    static const double ns = are_time ? compared_with_clock() : 1;
    return ns;
  }

 private:
  struct moment {
    double ns;
    double counts;
  };
  // Of several tries the one in which least else happened between the two looks.
  static moment look_at_both() {
    moment best{};
    double shortest = -1;
    for (int i = 0; i < 100; ++i) {
      const double before = clock_ns(), counted = now(), after = clock_ns();
      if (shortest >= 0 && after - before >= shortest) continue;
      shortest = after - before;
      best = {(before + after) / 2, counted};
    }
    return best;
  }
  static double compared_with_clock() {
    constexpr double long_enough_ns = 20e6;
    const moment start = look_at_both();
    while (clock_ns() - start.ns < long_enough_ns) {
    }
    const moment end = look_at_both();
    return (end.ns - start.ns) / (end.counts - start.counts);
  }
  static bool linux_takes_them() {
    std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    std::string name;
    return file >> name && name == "tsc";
  }
  inline static const bool are_time = linux_takes_them();
};

// Asks for real-time priority, which threads made later inherit. The report says what was granted.
inline void raise_priority() {
  const int wish = std::atoi(setting("BENCH_PRIORITY", "50").c_str());
  if (wish <= 0) return;
  const sched_param parameter{.sched_priority = wish};
  if (sched_setscheduler(0, SCHED_FIFO, &parameter) != 0)
    std::fprintf(stderr, "bench: no real-time priority %d (run as root); spinning figures suffer\n",
                 wish);
}

// Before a launcher is needed again: a spinning rank of real-time priority would starve it.
inline void lower_priority() {
  const sched_param parameter{.sched_priority = 0};
  sched_setscheduler(0, SCHED_OTHER, &parameter);
}

inline std::string priority() {
  const int policy = sched_getscheduler(0);
  if (policy != SCHED_FIFO && policy != SCHED_RR) return "normal";
  sched_param parameter{};
  sched_getparam(0, &parameter);
  return (policy == SCHED_FIFO ? "fifo" : "rr") + std::to_string(parameter.sched_priority);
}

inline double load() {
  double one_minute = 0;
  return getloadavg(&one_minute, 1) == 1 ? one_minute : -1;
}

inline int cores_allowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

// The calling thread alone moves to the `index`-th core that the process may use.
inline void pin(int index) {
  static const cpu_set_t allowed = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    return set;
  }();
  const int count = CPU_COUNT(&allowed);
  int seen = 0;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || seen++ != index % count) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

struct figures {
  double min, median, p99;
  std::size_t repetitions;
};

inline figures figures_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double share) {
    return samples[static_cast<std::size_t>(share * static_cast<double>(samples.size() - 1) + 0.5)];
  };
  return {samples.front(), at(0.5), at(0.99), samples.size()};
}

struct setup {
  std::string peer;  // weft, mpich, openmpi, openmp, hardware; a variant follows after a dash
  int ranks = 1, workers = 1;
};

inline void print_header() {
  std::puts(
      "name,peer,ranks,workers,unit,min,median,p99,repetitions,load,priority,compiler,commit");
  std::fflush(stdout);
}

// `name` is <subject>/<action>/<size>[/<variant>], the same for every peer.
inline void print_row(const std::string& name, const setup& who, const char* unit,
                      const std::vector<double>& samples) {
  const figures f = figures_of(samples);
  std::printf("%s,%s,%d,%d,%s,%.6g,%.6g,%.6g,%zu,%.2f,%s,g++ %s,%s\n", name.c_str(),
              who.peer.c_str(), who.ranks, who.workers, unit, f.min, f.median, f.p99, f.repetitions,
              load(), priority().c_str(), __VERSION__, setting("BENCH_COMMIT", "unknown").c_str());
  std::fflush(stdout);
  std::fprintf(stderr, "%-36s %-14s n=%-5d %12.6g %s (min %.6g, p99 %.6g, %zu repetitions)\n",
               name.c_str(), who.peer.c_str(), who.ranks, f.median, unit, f.min, f.p99,
               f.repetitions);
}

// Runs run_once(iterations) -> nanoseconds for the whole, first until one call lasts
// `sample_ms`, then for the repetitions. Returns nanoseconds per iteration.
template <class RunOnce>
std::vector<double> sample(RunOnce&& run_once, double sample_ms = 10) {
  const double start = clock_ns();
  const double end = start + seconds_per_row() * 1e9;
  long iterations = 1;
  for (;;) {
    const double took = run_once(iterations);
    if (took >= sample_ms * 1e6 || iterations >= (1L << 28)) break;
    const double grow = took > 0 ? sample_ms * 1.2e6 / took : 16;
    iterations =
        static_cast<long>(static_cast<double>(iterations) * std::clamp(grow, 1.5, 16.0)) + 1;
  }
  std::vector<double> samples;
  while (samples.size() < repetitions_wanted) {
    samples.push_back(run_once(iterations) / static_cast<double>(iterations));
    if (samples.size() >= repetitions_min && clock_ns() > end) break;
  }
  return samples;
}

}  // namespace bench
