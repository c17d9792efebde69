// A task graph run by tasks that belong to no rank: any worker of the process may take any of them. A task depends on its
// inputs and on the task before it in its column, whose memory it uses; every task looks at all of its inputs.
//
// How a task learns that its inputs are there is the back end:
//   spawn     each task counts down those that follow it; whoever counts the last one down spawns it. Over oneTBB, too
//   futures   a task is what follows when_all() of the shared futures of those that it depends on
//   parcels   like spawn, with the columns shared out to the localities; a task posts its output to each other locality
//             that has a reader, where the action counts the readers down
//
// Ranks only start them: of each process the first that comes does, the others wait, and their workers run tasks.
#pragma once
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "adapter.hpp"
#include "kernel.hpp"
#include "settings.hpp"

namespace metg {

// What all of them share: what a task reads, who follows it, what it does.
class task_nodes {
 public:
  task_nodes(const settings& how)
      : graph(how.pattern, how.width, how.radix),
        work(how.kernel, how.imbalance, how.width, how.scratch),
        stamps(std::max<std::size_t>(1, how.bytes / sizeof(stamp))),
        spoils_(how.spoil),
        found_(static_cast<std::size_t>(how.width)),
        followers_(graph.phases()) {
    for (std::size_t phase = 0; phase < graph.phases(); ++phase)
      for (int column = 0; column < graph.width(); ++column) {
        std::vector<int> all = graph.readers(phase, column);
        if (std::find(all.begin(), all.end(), column) == all.end()) all.push_back(column);
        followers_[phase].push_back(std::move(all));
      }
  }

  // The columns whose tasks of a step wait for that of a column in the step before, where they have tasks.
  [[nodiscard]] const std::vector<int>& followers(long step, int column) const {
    return followers_[graph.phase_of(step)][static_cast<std::size_t>(column)];
  }
  // How many tasks this one waits for.
  [[nodiscard]] std::uint32_t needs(long step, int column, const row& before) const {
    const std::vector<int>& inputs = graph.inputs(graph.phase_of(step), column);
    std::uint32_t count = 0;
    bool reads_itself = false;
    for (const int from : inputs) {
      count += before.has(from);
      reads_itself |= from == column;
    }
    return count + (before.has(column) && !reads_itself);
  }
  // output_of(column): the stamps of what it put out in the step before.
  template <class OutputOf>
  void check(long step, int column, const row& before, OutputOf&& output_of) {
    column_findings& found = found_[static_cast<std::size_t>(column)];
    for (const int from : graph.inputs(graph.phase_of(step), column)) {
      if (!before.has(from)) continue;
      ++found.inputs;
      const stamp wanted{step - 1, from};
      for (const stamp& is : output_of(from))
        if (is != wanted) [[unlikely]] {
          found.note(step, column, is, wanted);
          break;
        }
    }
  }
  void compute(long step, int column, long iterations) {
    work.run(static_cast<std::size_t>(column), 0, work.iterations_of(step, column, iterations));
  }
  void fill(std::span<stamp> output, long step, int column) const {
    for (stamp& s : output) s = {step, column};
    if (spoils_) [[unlikely]]
      output.back().column = -1;
  }

  // Of the tasks of columns [first, end) in a run.
  [[nodiscard]] double inputs_of(long steps, const row& of) const {
    double all = 0;
    for (long step = 1; step < steps; ++step) {
      const row before = graph.row_of(step - 1, steps), now = graph.row_of(step, steps);
      for (int c = std::max(now.first, of.first); c < std::min(now.end, of.end); ++c)
        for (const int from : graph.inputs(graph.phase_of(step), c)) all += before.has(from);
    }
    return all;
  }
  // Since the last call.
  [[nodiscard]] findings take_findings() {
    findings all;
    for (column_findings& f : found_) {
      all.inputs += static_cast<double>(f.inputs);
      all.wrong += static_cast<double>(f.wrong);
      if (all.first_wrong.empty()) all.first_wrong = f.first_wrong;
      f = {};
    }
    return all;
  }

  const metg::graph graph;
  kernel work;
  const std::size_t stamps;  // Of an output.

 private:
  bool spoils_;
  std::vector<column_findings> found_;
  std::vector<std::vector<std::vector<int>>> followers_;  // By phase, column.
};

// What is measured; see part.hpp for the calls.
class task_part {
 public:
  task_part(bench::peers& p, const settings& how) : nodes_(how), p_(p), all_{0, how.width} {}
  task_part(const task_part&) = delete;
  task_part& operator=(const task_part&) = delete;
  virtual ~task_part() = default;

  // Collective.
  virtual void run(long steps, long iterations) = 0;

  [[nodiscard]] long tasks(long steps) const { return nodes_.graph.tasks(steps); }
  // Collective. Processor time of the kernels, all cores busy, in ns a core.
  double perfect(long steps, long iterations) {
    return bench::sum_of_all(
               p_,
               [&](int rank) {
                 const auto first_of = [&](int r) {
                   return static_cast<int>(static_cast<long>(r) * all_.end / p_.size());
                 };
                 const double start = thread_ns();
                 for (long step = 0; step < steps; ++step) {
                   const row now = nodes_.graph.row_of(step, steps);
                   for (int c = std::max(now.first, first_of(rank));
                        c < std::min(now.end, first_of(rank + 1)); ++c)
                     nodes_.compute(step, c, iterations);
                 }
                 return thread_ns() - start;
               }) /
           cores_of(p_);
  }
  long iterations_for(double task_us) {
    constexpr long steps = 64, iterations = 64;
    const double ns =
        perfect(steps, iterations) * cores_of(p_) / static_cast<double>(tasks(steps) * iterations);
    return std::max(1L, static_cast<long>(p_.bcast(task_us * 1e3 / ns, 0)));
  }
  [[nodiscard]] findings take_findings() {
    findings all = nodes_.take_findings();
    for (const auto& [steps, times] : std::exchange(runs_, {}))
      all.due += times * nodes_.inputs_of(steps, mine_);
    return all;
  }

 protected:
  task_nodes nodes_;
  bench::peers& p_;
  const row all_;
  row mine_;                     // Whose tasks this rank starts: of its process, or none.
  std::map<long, double> runs_;  // How many runs of these had so many steps.
};

// Counters and outputs, one of each for every task of a run: nobody writes them twice, so nobody has to wait until
// others have read them.
class task_table {
 public:
  static constexpr std::size_t bytes_max = std::size_t{1} << 30;

  // Called before the tasks run.
  void begin(const task_nodes& nodes, long steps, long iterations) {
    steps_ = steps;
    iterations_ = iterations;
    width_ = static_cast<std::size_t>(nodes.graph.width());
    stamps_ = nodes.stamps;
    const std::size_t count = static_cast<std::size_t>(steps) * width_;
    if (count * stamps_ * sizeof(stamp) > bytes_max)
      throw std::invalid_argument("outputs of " + std::to_string(steps) + " steps take more than " +
                                  std::to_string(bytes_max >> 20) +
                                  " MiB: give --steps or fewer --bytes");
    if (count > size_) {
      left_.reset(new std::atomic<std::uint32_t>[count]);
      outputs_.resize(count * stamps_);
      size_ = count;
    }
    for (long step = 0; step < steps; ++step) {
      const row before = before_of(nodes, step), now = nodes.graph.row_of(step, steps);
      for (int c = now.first; c < now.end; ++c)
        left_[index_of(step, c)].store(nodes.needs(step, c, before), std::memory_order_relaxed);
    }
  }
  [[nodiscard]] row before_of(const task_nodes& nodes, long step) const {
    return step > 0 ? nodes.graph.row_of(step - 1, steps_) : row{};
  }
  [[nodiscard]] long steps() const { return steps_; }
  [[nodiscard]] long iterations() const { return iterations_; }
  [[nodiscard]] std::span<stamp> output(long step, int column) {
    return std::span(outputs_).subspan(index_of(step, column) * stamps_, stamps_);
  }
  // True for the last of those that it waits for; the caller sees what all of them have written.
  [[nodiscard]] bool count_down(long step, int column) {
    return left_[index_of(step, column)].fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

 private:
  [[nodiscard]] std::size_t index_of(long step, int column) const {
    return static_cast<std::size_t>(step) * width_ + static_cast<std::size_t>(column);
  }
  long steps_ = 0, iterations_ = 0;
  std::size_t width_ = 0, stamps_ = 0, size_ = 0;
  std::unique_ptr<std::atomic<std::uint32_t>[]> left_;
  std::vector<stamp> outputs_;
};

// Over any library's groups of tasks: Group has run(f), wait(), and within(f) calls f where its tasks may be started.
template <class Group>
class spawn_part final : public task_part {
 public:
  spawn_part(bench::peers& p, const settings& how) : task_part(p, how) {
    if (p.rank() == 0) mine_ = all_;
  }

  void run(long steps, long iterations) override {
    if (p_.rank() != 0) return;
    ++runs_[steps];
    table_.begin(nodes_, steps, iterations);
    Group::within([&] {
      Group all;
      for (long step = 0; step < steps; ++step) {
        // Those that wait for none; all others are started by those.
        const row now = nodes_.graph.row_of(step, steps), before = table_.before_of(nodes_, step);
        for (int c = now.first; c < now.end; ++c)
          if (nodes_.needs(step, c, before) == 0)
            all.run([this, &all, step, c] { task(all, step, c); });
        if (before.end - before.first == all_.end)
          break;  // From a whole row on all have the one before.
      }
      all.wait();
    });
  }

 private:
  void task(Group& all, long step, int column) {
    nodes_.check(step, column, table_.before_of(nodes_, step),
                 [&](int from) { return table_.output(step - 1, from); });
    nodes_.compute(step, column, table_.iterations());
    nodes_.fill(table_.output(step, column), step, column);
    const long next = step + 1;
    if (next == table_.steps()) return;
    const row after = nodes_.graph.row_of(next, table_.steps());
    for (const int c : nodes_.followers(next, column))
      if (after.has(c) && table_.count_down(next, c))
        all.run([this, &all, next, c] { task(all, next, c); });
  }

  task_table table_;
};

}  // namespace metg
