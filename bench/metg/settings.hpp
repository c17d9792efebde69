// What is asked for, what tasks put out, and what they find at their inputs: the same for all back ends.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <stdexcept>
#include <string>

#include "adapter.hpp"
#if !defined BENCH_OVER_MPI && !defined BENCH_OVER_SHMEM && !defined BENCH_OVER_TBB
#include <weft/parcels/locality.hpp>
#endif

namespace metg {

// part.hpp has the first three, task_part.hpp the next, shmem_part.hpp the last.
enum class backend { ready, steps, tasks, spawn, futures, parcels, signals, get, am, am_wait };

struct backend_name {
  backend which;
  const char* name;
  bool is_here;  // Over this library.
};
inline constexpr backend_name backends[] = {
    {backend::ready, "ready", bench::has_ranks && !bench::over_shmem},
    {backend::steps, "steps", bench::has_ranks && !bench::over_shmem},
    {backend::tasks, "tasks", bench::has_ranks&& bench::has_loops},
    {backend::spawn, "spawn", bench::has_tasks},
    {backend::futures, "futures", bench::over_weft},
    {backend::parcels, "parcels", bench::over_weft},
    {backend::signals, "signals", bench::over_shmem},
    {backend::get, "get", bench::over_shmem},
    {backend::am, "am", bench::has_active_messages},
    {backend::am_wait, "am-wait", bench::has_active_messages},
};

inline backend backend_named(const std::string& name) {
  std::string known;
  for (const backend_name& one : backends) {
    if (!one.is_here) continue;
    if (name == one.name) return one.which;
    known += std::string(" ") + one.name;
  }
  throw std::invalid_argument("no back end '" + name + "'; there are:" + known);
}

struct settings {
  std::string pattern;
  std::string kernel;
  metg::backend backend;
  int width;  // Columns of all ranks.
  int radix;
  double imbalance;
  std::size_t bytes;  // Of an output.
  long steps;         // 0: as many as it takes.
  std::size_t scratch;
  bool spoil;  // Every output is wrong in its last bytes, so every look at an input must fail.
};

// What a task puts out, repeated until the output is full: which task it was.
struct stamp {
  std::int64_t step;
  std::int64_t column;
  bool operator==(const stamp&) const = default;
};

// What the tasks found when they looked at their inputs.
struct findings {
  double due = 0;  // Inputs that there were to look at, counted without looking.
  double inputs = 0;
  double wrong = 0;
  std::string first_wrong;
};

// Those of a column, written by whoever runs its task.
struct alignas(64) column_findings {
  long inputs = 0;
  long wrong = 0;
  std::string first_wrong;

  [[gnu::noinline]] void note(long step, int column, const stamp& is, const stamp& wanted) {
    if (wrong++ != 0) return;
    char text[160];
    std::snprintf(text, sizeof text,
                  "task (%ld, %d) read the output of (%ld, %ld) for that of (%ld, %ld)", step,
                  column, long{is.step}, long{is.column}, long{wanted.step}, long{wanted.column});
    first_wrong = text;
  }
};

// Those that run tasks. Workers are those of one process of weft's.
inline int cores_of(const bench::peers& p) {
#if defined BENCH_OVER_MPI || defined BENCH_OVER_SHMEM || defined BENCH_OVER_TBB
  return p.workers();
#else
  return p.workers() * weft::locality_count();
#endif
}

// Of the calling thread.
inline double thread_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

}  // namespace metg
