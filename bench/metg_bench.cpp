// Minimum effective task granularity (Slaughter et al., SC 20; OpenSHMEM active messages paper,
// section 4.2): the shortest tasks with which a machine still does half of the useful work that it
// could. One source, over weft's ranks, over ranks with loop tasks, over MPI.
//
// Each rank owns a block of columns. In a step it receives what its tasks read from other ranks'
// columns and sends what those read from its own, one message per pair of columns, waits for all,
// checks every input and computes. Within a rank outputs are read where they are.
//
// Options (or METG_<OPTION> in the environment):
//   --pattern NAME,...   (all)      --kernel compute|memory|imbalance   (compute)
//   --columns N per rank (1)        --imbalance 0..2                    (1.0)
//   --radix N            (5)        --bytes N of each output            (16)
//   --steps N            (0: as many as give 5 ms)
//   --backend ranks,tasks (both)    --scratch BYTES per column          (1 MiB)
//   --iterations N       (0: look for the METG; else only the efficiency with tasks of N)
//   --curve 1            efficiency at every granularity up to 99 %, for the plot
#include <cmath>
#include <cstring>
#include <ctime>
#include <stdexcept>

#include "adapter.hpp"
#include "metg/kernel.hpp"

namespace {

struct settings {
  std::string pattern;
  std::string kernel;
  bool tasks;
  int columns;
  int radix;
  double imbalance;
  std::size_t bytes;
  long steps;
  std::size_t scratch;
};

double thread_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

// What a task puts out, repeated until the output is full: which task it was.
struct stamp {
  std::int64_t step;
  std::int64_t column;
  bool operator==(const stamp&) const = default;
};

class task_graph {
 public:
  task_graph(bench::peers& p, const settings& how)
      : p_(p),
        how_(how),
        graph_(how.pattern, how.columns * p.size(), how.radix),
        kernel_(how.kernel, how.imbalance, how.columns, how.scratch),
        first_(how.columns * p.rank()),
        stamps_(std::max<std::size_t>(1, how.bytes / sizeof(stamp))) {
    const auto columns = static_cast<std::size_t>(how.columns);
    for (auto& outputs : outputs_) outputs.resize(columns * stamps_);
    inputs_.resize(columns);
#ifndef BENCH_OVER_MPI
    // Enough chunks for thieves, however few columns there are.
    pieces_ = std::max<std::size_t>(1, 16 / columns);
#endif
  }

  [[nodiscard]] int columns() const {
    return graph_.columns();
  }

  void run(long steps, long iterations) {
    for (long step = 0; step < steps; ++step) {
      if (step > 0) exchange(step);
      compute(step, iterations);
    }
  }

  // Processor time of the kernels of all ranks, in ns a core: what could be reached.
  double perfect(long steps, long iterations) {
    p_.barrier();
    const double start = thread_ns();
    for (long step = 0; step < steps; ++step)
      for (int c = 0; c < how_.columns; ++c)
        kernel_.run(static_cast<std::size_t>(c), 0,
                    kernel_.iterations_of(step, first_ + c, iterations));
    return p_.sum(thread_ns() - start) / p_.workers();
  }

 private:
  [[nodiscard]] int owner(int column) const {
    return column / how_.columns;
  }
  [[nodiscard]] int tag(int from, int to) const {
    return from * graph_.columns() + to;
  }
  [[nodiscard]] std::span<stamp> output(long step, int column) {
    return std::span(outputs_[step % 2])
        .subspan(static_cast<std::size_t>(column - first_) * stamps_, stamps_);
  }

  void exchange(long step) {
    for (int c = first_; c < first_ + how_.columns; ++c) {
      const std::vector<int>& from = graph_.inputs(step, c);
      auto& received = inputs_[static_cast<std::size_t>(c - first_)];
      if (received.size() < from.size() * stamps_) received.resize(from.size() * stamps_);
      for (std::size_t i = 0; i < from.size(); ++i)
        if (owner(from[i]) != p_.rank())
          requests_.push_back(p_.irecv(std::span(received).subspan(i * stamps_, stamps_),
                                       owner(from[i]), tag(from[i], c)));
    }
    for (int c = first_; c < first_ + how_.columns; ++c)
      for (const int to : graph_.readers(step, c))
        if (owner(to) != p_.rank())
          requests_.push_back(
              p_.isend(std::span<const stamp>(output(step - 1, c)), owner(to), tag(c, to)));
    p_.wait_all(requests_);
    requests_.clear();
  }

  // Before its kernel a task looks at everything it reads.
  void check(long step, int column) {
    const std::vector<int>& from = graph_.inputs(step, column);
    const auto& received = inputs_[static_cast<std::size_t>(column - first_)];
    for (std::size_t i = 0; i < from.size(); ++i) {
      const stamp wanted{step - 1, from[i]};
      const std::span<const stamp> is = owner(from[i]) == p_.rank()
                                            ? std::span<const stamp>(output(step - 1, from[i]))
                                            : std::span(received).subspan(i * stamps_, stamps_);
      for (const stamp& s : is)
        if (s != wanted) [[unlikely]]
          throw std::runtime_error("task (" + std::to_string(step) + ", " + std::to_string(column) +
                                   ") read the output of (" + std::to_string(s.step) + ", " +
                                   std::to_string(s.column) + ") for that of (" +
                                   std::to_string(wanted.step) + ", " +
                                   std::to_string(wanted.column) + ")");
    }
  }
  void finish(long step, int column) {
    for (stamp& s : output(step, column)) s = {step, column};
  }

  void compute(long step, long iterations) {
#ifndef BENCH_OVER_MPI
    if (how_.tasks) return compute_with_tasks(step, iterations);
#endif
    for (int c = first_; c < first_ + how_.columns; ++c) {
      if (step > 0) check(step, c);
      kernel_.run(static_cast<std::size_t>(c - first_), 0,
                  kernel_.iterations_of(step, c, iterations));
      finish(step, c);
    }
  }

#ifndef BENCH_OVER_MPI
  // One chunk is a piece of one column's kernel; its first piece also checks the inputs.
  void compute_with_tasks(long step, long iterations) {
    const auto pieces = static_cast<long>(pieces_);
    weft::parallel_for(0, static_cast<std::size_t>(how_.columns) * pieces_,
                       [&](std::size_t chunk) {
                         const std::size_t column = chunk / pieces_;
                         const auto piece = static_cast<long>(chunk % pieces_);
                         const int c = first_ + static_cast<int>(column);
                         if (piece == 0 && step > 0) check(step, c);
                         const long all = kernel_.iterations_of(step, c, iterations);
                         kernel_.run(column, all * piece / pieces, all * (piece + 1) / pieces);
                       },
                       {.grain = 1});
    for (int c = first_; c < first_ + how_.columns; ++c) finish(step, c);
  }
#endif

  bench::peers& p_;
  settings how_;
  metg::graph graph_;
  metg::kernel kernel_;
  int first_;
  std::size_t stamps_;
  [[maybe_unused]] std::size_t pieces_ = 1;
  std::vector<stamp> outputs_[2];           // By parity of the step.
  std::vector<std::vector<stamp>> inputs_;  // From other ranks, by column.
  std::vector<bench::request> requests_;
};

// One granularity, measured.
struct point {
  double granularity_us = 0;  // Time of a task, if cores did nothing else.
  double efficiency = 0;
};

// Collective; the same on all ranks. The reachable time is measured before every run, because
// processors change their pace; of three runs the best counts.
point measure(bench::peers& p, task_graph& graph, const settings& how, long iterations) {
  constexpr double sample_ns = 5e6;
  long steps = how.steps > 0 ? how.steps : 8;
  double took = 0;
  while (took = bench::time_of(p, [&] { graph.run(steps, iterations); }),
         how.steps == 0 && took < sample_ns)
    steps = static_cast<long>(static_cast<double>(steps) *
                              std::clamp(1.2 * sample_ns / std::max(took, 1.0), 1.5, 16.0));
  point best;
  const double end = bench::clock_ns() + bench::seconds_per_row() * 1e9;
  for (int repetition = 0; repetition < 3; ++repetition) {
    const double perfect = graph.perfect(steps, iterations);
    took = bench::time_of(p, [&] { graph.run(steps, iterations); });
    const double tasks = static_cast<double>(steps) * graph.columns();
    if (perfect / took > best.efficiency || repetition == 0)
      best = {took / 1e3 * p.workers() / tasks, perfect / took};
    if (p.bcast(bench::clock_ns() > end ? 1.0 : 0.0, 0) != 0) break;
  }
  return best;
}

// Collective. The granularity at which the efficiency is `share`, between two measured ones.
double find_metg(bench::peers& p, task_graph& graph, const settings& how, double share) {
  point below;
  for (long iterations = 1;; iterations *= 2) {
    const point now = measure(p, graph, how, iterations);
    if (now.efficiency >= share || iterations > (1L << 30)) {
      if (below.granularity_us == 0 || now.efficiency <= below.efficiency)
        return now.granularity_us;
      const double part = (share - below.efficiency) / (now.efficiency - below.efficiency);
      return below.granularity_us * std::pow(now.granularity_us / below.granularity_us, part);
    }
    below = now;
  }
}

void run_pattern(bench::peers& p, const settings& how, long iterations, bool curve) {
  const std::string suffix = how.pattern + "/" + std::to_string(how.columns) + "c" +
                             (how.kernel == "compute" ? "" : "/" + how.kernel);
  if (!bench::wanted("metg/" + suffix)) return;
  task_graph graph(p, how);
  const auto setup = bench::setup_of(p, how.tasks ? "-tasks" : "");
  const auto row = [&](const std::string& name, const char* unit,
                       const std::vector<double>& samples) {
    if (p.rank() == 0) bench::print_row(name, setup, unit, samples);
  };
  if (iterations > 0 || curve) {
    for (long n = iterations > 0 ? iterations : 1;; n *= 2) {
      const point now = measure(p, graph, how, n);
      row("metg/granularity/" + suffix + "/" + std::to_string(n), "us", {now.granularity_us});
      row("metg/efficiency/" + suffix + "/" + std::to_string(n), "%", {100 * now.efficiency});
      if (iterations > 0 || now.efficiency > 0.99 || n > (1L << 20)) return;
    }
  }
  const double end = bench::clock_ns() + bench::seconds_per_row() * 1e9;
  std::vector<double> samples;
  while (samples.size() < 5) {
    samples.push_back(find_metg(p, graph, how, 0.5));
    if (p.bcast(bench::clock_ns() > end ? 1.0 : 0.0, 0) != 0) break;
  }
  row("metg/" + suffix, "us", samples);
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
    for (char& c : variable) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return bench::setting(variable.c_str(), otherwise);
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
  settings how{
      "",
      option("kernel", "compute"),
      false,
      std::max(1, std::atoi(option("columns", "1").c_str())),
      std::max(1, std::atoi(option("radix", "5").c_str())),
      std::atof(option("imbalance", "1").c_str()),
      static_cast<std::size_t>(std::max(16, std::atoi(option("bytes", "16").c_str()))),
      std::atol(option("steps", "0").c_str()),
      static_cast<std::size_t>(std::max(0L, std::atol(option("scratch", "1048576").c_str())))};
  const auto patterns = words_of(option("pattern", all.c_str()));
  const auto backends = words_of(option("backend", bench::over_weft ? "ranks,tasks" : "ranks"));
  const long iterations = std::atol(option("iterations", "0").c_str());
  const bool curve = std::atoi(option("curve", "0").c_str()) != 0;
  return bench::run(argc, argv, [&](bench::peers& p) {
    for (const std::string& pattern : patterns)
      for (const std::string& backend : backends) {
        settings here = how;
        here.pattern = pattern;
        here.tasks = backend == "tasks";
        run_pattern(p, here, iterations, curve);
      }
  });
}
