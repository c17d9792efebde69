// Tasks: what a spawn and a join, a future and a switch to who waits for it cost; fib, a random graph and nested loops,
// beside oneTBB, Taskflow and libfork where they are found, on the same number of workers.
//
//   bench-task [--workers N] [--filter TEXT] [--repetitions N]      rows as report.hpp has them, of 5 repetitions
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>
#include <weft/loop.hpp>
#include <weft/options.hpp>
#include <weft/tasks.hpp>

#include "report.hpp"

#if defined(WEFT_BENCH_TBB)
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#endif
#if defined(WEFT_BENCH_TASKFLOW)
#include <taskflow/algorithm/for_each.hpp>
#include <taskflow/taskflow.hpp>
#endif
#if defined(WEFT_BENCH_LIBFORK)
#include <libfork.hpp>
#endif

namespace {

int workers = 0;
std::string filter;
int repetitions = 5;

bool is_wanted(const std::string& name) {
  return name.find(filter) != std::string::npos && bench::wanted(name);
}

// Nanoseconds for each of `count` things that `run` does.
void measure(const std::string& name, const std::string& system, double count,
             const std::function<void()>& run) {
  if (!is_wanted(name)) return;
  std::vector<double> times;
  for (int i = 0; i < repetitions; ++i) {
    const double start = bench::clock_ns();
    run();
    times.push_back((bench::clock_ns() - start) / count);
  }
  bench::print_row(name, {system + bench::setting("BENCH_VARIANT", ""), 1, workers}, "ns", times);
}

// --- The same programs for all -------------------------------------------------------------------

struct weft_tasks {
  static constexpr const char* name = "weft";
  using group = weft::task_group;
  template <class F>
  static void spawn(group& to, F&& f) {
    to.spawn(std::forward<F>(f));
  }
  template <class Body>
  static void loop(std::size_t count, std::size_t grain, const Body& body) {
    weft::parallel_for(0, count, [&](weft::range_1d part) { body(part.begin, part.end); },
                       {.grain = grain});
  }
};

#if defined(WEFT_BENCH_TBB)
struct tbb_tasks {
  static constexpr const char* name = "tbb";
  using group = tbb::task_group;
  template <class F>
  static void spawn(group& to, F&& f) {
    to.run(std::forward<F>(f));
  }
  template <class Body>
  static void loop(std::size_t count, std::size_t grain, const Body& body) {
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, count, grain),
        [&](const tbb::blocked_range<std::size_t>& part) { body(part.begin(), part.end()); });
  }
};
#endif

#if defined(WEFT_BENCH_TASKFLOW)
// Called by a worker of its executor.
struct taskflow_tasks {
  static constexpr const char* name = "taskflow";
  static inline tf::Executor* executor = nullptr;
  struct group {
    tf::TaskGroup inner = executor->task_group();
    void wait() { inner.corun(); }
  };
  template <class F>
  static void spawn(group& to, F&& f) {
    to.inner.silent_async(std::forward<F>(f));
  }
  template <class Body>
  static void loop(std::size_t count, std::size_t grain, const Body& body) {
    group parts;
    for (std::size_t from = 0; from < count; from += grain)
      spawn(parts, [&body, from, to = std::min(count, from + grain)] { body(from, to); });
    parts.wait();
  }
};
#endif

// A spawn for each call.
template <class System>
int fib(int n) {
  if (n < 2) return n;
  int left = 0;
  typename System::group both;
  System::spawn(both, [&left, n] { left = fib<System>(n - 1); });
  const int right = fib<System>(n - 2);
  both.wait();
  return left + right;
}

// A node runs when those before it have; each depends on up to three of the 1,000 before it.
struct graph {
  explicit graph(std::size_t count) : after(count), before(count) {
    std::mt19937 random(1);
    for (std::size_t i = 1; i < count; ++i) {
      const std::size_t edges = 1 + random() % 3;
      for (std::size_t e = 0; e < edges; ++e) {
        const std::size_t reach = std::min<std::size_t>(i, 1000);
        after[i - 1 - random() % reach].push_back(static_cast<std::uint32_t>(i));
        ++before[i];
      }
    }
  }
  std::vector<std::vector<std::uint32_t>> after;
  std::vector<std::uint32_t> before;
};

template <class System>
struct graph_run {
  const graph& of;
  std::unique_ptr<std::atomic<std::uint32_t>[]> left;
  typename System::group all;
  std::atomic<std::uint64_t> sum = 0;

  explicit graph_run(const graph& g)
      : of(g), left(new std::atomic<std::uint32_t>[g.before.size()]) {
    for (std::size_t i = 0; i < g.before.size(); ++i)
      left[i].store(g.before[i], std::memory_order_relaxed);
  }
  void node(std::uint32_t i) {
    for (const std::uint32_t next : of.after[i])
      if (left[next].fetch_sub(1) == 1) System::spawn(all, [this, next] { node(next); });
  }
  void run() {
    for (std::uint32_t i = 0; i < of.before.size(); ++i)
      if (of.before[i] == 0) System::spawn(all, [this, i] { node(i); });
    all.wait();
  }
};

template <class System>
void measure_graph(const graph& of) {
  measure("task/graph/1000000", System::name, 1e6, [&] { graph_run<System>(of).run(); });
}

#if defined(WEFT_BENCH_TASKFLOW)
// As it is meant to be written: a graph that is made once and run again.
template <>
void measure_graph<taskflow_tasks>(const graph& of) {
  tf::Taskflow flow;
  std::vector<tf::Task> nodes;
  nodes.reserve(of.before.size());
  for (std::size_t i = 0; i < of.before.size(); ++i) nodes.push_back(flow.emplace([] {}));
  for (std::size_t i = 0; i < of.before.size(); ++i)
    for (const std::uint32_t next : of.after[i]) nodes[i].precede(nodes[next]);
  measure("task/graph/1000000", taskflow_tasks::name, 1e6,
          [&] { taskflow_tasks::executor->corun(flow); });
}
#endif

template <class System>
void nested_loops(std::vector<double>& values) {
  constexpr std::size_t inner = 1000;
  System::loop(values.size() / inner, 1, [&](std::size_t first, std::size_t end) {
    for (std::size_t row = first; row < end; ++row)
      System::loop(inner, 50, [&](std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < to; ++i)
          values[row * inner + i] = values[row * inner + i] * 1.0001 + 1;
      });
  });
}

template <class System>
void compare() {
  constexpr int n = 32;
  constexpr double calls = 7049155;  // Of fib(32) that spawn and those that do not.
  measure("task/fib/32", System::name, calls, [] {
    if (fib<System>(n) != 2178309) std::abort();
  });
  if (is_wanted("task/graph/1000000")) {
    static const graph random_graph(1000000);
    measure_graph<System>(random_graph);
  }
  measure("task/nested_loops/1000x1000", System::name, 1e6, [] {
    static std::vector<double> values(1000000, 1.0);
    nested_loops<System>(values);
  });
  measure("task/spawn_join/0B", System::name, 1e6, [] {
    for (int i = 0; i < 1000000; ++i) {
      typename System::group one;
      System::spawn(one, [] {});
      one.wait();
    }
  });
}

#if defined(WEFT_BENCH_LIBFORK)
// Its tasks are coroutines, and a graph that is no tree of calls is not among what they can say.
inline constexpr auto forked_fib = [](auto self, int n) -> lf::task<int> {
  if (n < 2) co_return n;
  int left = 0, right = 0;
  co_await lf::fork(&left, self)(n - 1);
  co_await lf::call(&right, self)(n - 2);
  co_await lf::join;
  co_return left + right;
};
inline constexpr auto forked_loop = [](auto self, std::size_t from, std::size_t to,
                                       std::size_t grain, auto body) -> lf::task<> {
  if (to - from <= grain) {
    body(from, to);
    co_return;
  }
  const std::size_t middle = from + (to - from) / 2;
  co_await lf::fork(self)(from, middle, grain, body);
  co_await lf::call(self)(middle, to, grain, body);
  co_await lf::join;
};
inline constexpr auto forked_rows = [](auto self, std::size_t from, std::size_t to,
                                       std::vector<double>* values) -> lf::task<> {
  constexpr std::size_t inner = 1000;
  if (to - from == 1) {
    const auto row = [values, from](std::size_t first, std::size_t end) {
      for (std::size_t i = first; i < end; ++i)
        (*values)[from * inner + i] = (*values)[from * inner + i] * 1.0001 + 1;
    };
    co_await lf::call(forked_loop)(std::size_t{0}, inner, std::size_t{50}, row);
  } else {
    const std::size_t middle = from + (to - from) / 2;
    co_await lf::fork(self)(from, middle, values);
    co_await lf::call(self)(middle, to, values);
  }
  co_await lf::join;
};

void compare_libfork() {
  lf::lazy_pool pool(static_cast<std::size_t>(workers));
  measure("task/fib/32", "libfork", 7049155, [&] {
    if (lf::sync_wait(pool, forked_fib, 32) != 2178309) std::abort();
  });
  measure("task/nested_loops/1000x1000", "libfork", 1e6, [&] {
    static std::vector<double> values(1000000, 1.0);
    lf::sync_wait(pool, forked_rows, std::size_t{0}, std::size_t{1000}, &values);
  });
}
#endif

void own() {
  measure("task/spawn_get/0B", "weft", 1e6, [] {
    for (int i = 0; i < 1000000; ++i) weft::spawn([] {}).get();
  });
  // Two fibers that set each other's future: one set and one switch each way, where there is one worker. With more, the
  // task may run on another.
  measure("task/future_set_to_waiter/8B", "weft", 2e5, [] {
    constexpr std::size_t rounds = 100000;
    std::vector<weft::promise<int>> there(rounds), back(rounds);
    weft::task_group all;
    std::vector<weft::future<int>> to_there, to_back;
    for (std::size_t i = 0; i < rounds; ++i) {
      to_there.push_back(there[i].get_future());
      to_back.push_back(back[i].get_future());
    }
    all.spawn([&] {
      for (std::size_t i = 0; i < rounds; ++i) {
        const int value = to_there[i].get();
        back[i].set_value(value);
      }
    });
    for (std::size_t i = 0; i < rounds; ++i) {
      there[i].set_value(1);
      (void)to_back[i].get();
    }
    all.wait();
  });
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--workers") == 0 && i + 1 < argc)
      workers = std::atoi(argv[++i]);
    else if (std::strcmp(argv[i], "--filter") == 0 && i + 1 < argc)
      filter = argv[++i];
    else if (std::strcmp(argv[i], "--repetitions") == 0 && i + 1 < argc)
      repetitions = std::atoi(argv[++i]);
    else {
      std::fprintf(
          stderr,
          "bench-task [--workers N] [--filter TEXT] [--repetitions N]\n"
          "Tasks of weft and of its rivals: CSV of ns for each task, loop index or spawn.\n");
      return std::strcmp(argv[i], "--help") == 0 ? 0 : 2;
    }
  }
  if (workers == 0)
    workers = std::min(bench::cores_allowed(),
                       std::atoi(bench::setting("BENCH_WORKERS", "1024").c_str()));
  bench::raise_priority();
  bench::print_header();
  weft::options how;
  how.workers = workers;
  const int status = weft::run_tasks(how, [] {
    compare<weft_tasks>();
    own();
  });
#if defined(WEFT_BENCH_TBB)
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(workers));
  tbb::task_arena arena(workers);
  arena.execute([] { compare<tbb_tasks>(); });
#else
  std::fprintf(stderr, "oneTBB was not found when this was built\n");
#endif
#if defined(WEFT_BENCH_TASKFLOW)
  {
    tf::Executor executor(static_cast<std::size_t>(workers));
    taskflow_tasks::executor = &executor;
    executor.async([] { compare<taskflow_tasks>(); }).wait();
  }
#endif
#if defined(WEFT_BENCH_LIBFORK)
  compare_libfork();
#endif
  return status;
}
