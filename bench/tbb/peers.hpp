// oneTBB as the benchmarks see it: one process, whose threads take tasks. BENCH_RANKS says how many ranks the rivals
// have, for names of rows and widths of graphs; BENCH_WORKERS how many threads.
#pragma once
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include <functional>
#include <thread>
#include <vector>

#include "report.hpp"

namespace bench {

inline constexpr bool over_weft = false, has_ranks = false, has_tasks = true;

// The threads of the rival, each on a core of its own, as weft's workers are.
class tbb_threads : public tbb::task_scheduler_observer {
 public:
  explicit tbb_threads(int count)
      : arena_(count),
        limit_(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(count)) {
    arena_.initialize();
    observe(true);
  }
  ~tbb_threads() override { observe(false); }
  void on_scheduler_entry(bool) override {
    if (const int index = tbb::this_task_arena::current_thread_index(); index >= 0) pin(index);
  }
  tbb::task_arena& arena() { return arena_; }
  static inline tbb_threads* current = nullptr;

 private:
  tbb::task_arena arena_;
  tbb::global_control limit_;
};

struct tbb_group {
  tbb::task_group group;
  template <class F>
  void run(F&& f) {
    group.run(std::forward<F>(f));
  }
  void wait() { group.wait(); }
  template <class F>
  static void within(F&& f) {
    tbb_threads::current->arena().execute(std::forward<F>(f));
  }
};

// Whoever asks is the only one there is.
class peers {
 public:
  peers(int size, int workers) : size_(size), workers_(workers) {}
  static int rank() { return 0; }
  int size() const { return size_; }
  int workers() const { return workers_; }
  static const char* name() { return "tbb"; }
  static void barrier() {}
  static double sum(double value) { return value; }
  static void max(std::span<const double> in, std::span<double> out) {
    std::copy(in.begin(), in.end(), out.begin());
  }
  static double bcast(double value, int) { return value; }
  static void sleep_for(std::chrono::nanoseconds time) { std::this_thread::sleep_for(time); }

 private:
  int size_, workers_;
};

// A thread a core, each for the ranks that would be there.
template <class Op>
double sum_of_all(peers& p, Op&& op) {
  std::vector<double> sums(static_cast<std::size_t>(p.workers()));
  std::vector<std::thread> threads;
  for (int core = 0; core < p.workers(); ++core)
    threads.emplace_back([&, core] {
      pin(core);
      for (int rank = 0; rank < p.size(); ++rank)
        if (static_cast<long>(rank) * p.workers() / p.size() == core)
          sums[static_cast<std::size_t>(core)] += op(rank);
    });
  for (std::thread& one : threads) one.join();
  double all = 0;
  for (const double one : sums) all += one;
  return all;
}

inline int run(int, char**, const std::function<void(peers&)>& body) {
  raise_priority();
  const int ranks = std::max(1, std::atoi(setting("BENCH_RANKS", "1").c_str()));
  const int cores = std::min(cores_allowed(), std::atoi(setting("BENCH_WORKERS", "1024").c_str()));
  tbb_threads threads(std::max(1, cores));
  tbb_threads::current = &threads;
  print_header();
  peers p(ranks, std::max(1, cores));
  body(p);
  return 0;
}

}  // namespace bench
