// What every back end has: a block of columns of the graph, which one rank owns; their kernel; the look of each task
// at its inputs; what could be reached.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "adapter.hpp"
#include "kernel.hpp"
#include "settings.hpp"

namespace metg {

// Columns side by side of one rank that another one reads.
struct run {
  row from;
  row to;  // Those that read them there, and perhaps others between.
};

class block {
 public:
  block(bench::peers& p, const settings& how)
      : p_(p),
        how_(how),
        graph_(how.pattern, how.width, how.radix),
        own_{first_of(p.rank()), first_of(p.rank() + 1)},
        kernel_(how.kernel, how.imbalance, own_.end - own_.first, how.scratch),
        stamps_(std::max<std::size_t>(1, how.bytes / sizeof(stamp))),
        columns_(static_cast<std::size_t>(own_.end - own_.first)),
        found_(columns_) {}

  [[nodiscard]] long tasks(long steps) const { return graph_.tasks(steps); }

  // Processor time of the kernels of all ranks, in ns a core: what could be reached.
  double perfect(long steps, long iterations) {
    p_.barrier();
    const double start = thread_ns();
    for (long step = 0; step < steps; ++step) {
      const row mine = own_part(graph_.row_of(step, steps));
      for (int c = mine.first; c < mine.end; ++c)
        kernel_.run(index_of(c), 0, kernel_.iterations_of(step, c, iterations));
    }
    return p_.sum(thread_ns() - start) / cores_of(p_);
  }

  // Collective, the same on all ranks: how many iterations a task of so many microseconds has.
  long iterations_for(double task_us) {
    constexpr long steps = 64, iterations = 64;
    const double ns =
        perfect(steps, iterations) * cores_of(p_) / static_cast<double>(tasks(steps) * iterations);
    return std::max(1L, static_cast<long>(p_.bcast(task_us * 1e3 / ns, 0)));
  }

  // Since the last call, on this rank.
  [[nodiscard]] findings take_findings() {
    findings all;
    for (const auto& [steps, times] : std::exchange(runs_, {})) all.due += times * inputs_of(steps);
    for (column_findings& f : found_) {
      all.inputs += static_cast<double>(f.inputs);
      all.wrong += static_cast<double>(f.wrong);
      if (all.first_wrong.empty()) all.first_wrong = f.first_wrong;
      f = {};
    }
    return all;
  }

 protected:
  [[nodiscard]] int first_of(int rank) const {
    return static_cast<int>(static_cast<long>(rank) * how_.width / p_.size());
  }
  [[nodiscard]] int owner(int column) const {
    return static_cast<int>((static_cast<long>(column + 1) * p_.size() - 1) / how_.width);
  }
  [[nodiscard]] std::size_t index_of(int column) const {
    return static_cast<std::size_t>(column - own_.first);
  }
  [[nodiscard]] row own_part(const row& of) const {
    return {std::max(of.first, own_.first), std::min(of.end, own_.end)};
  }
  // Whether two rows have a column in common.
  [[nodiscard]] static bool meet(const row& a, const row& b) {
    return a.first < b.end && b.first < a.end;
  }
  [[nodiscard]] std::vector<run> runs_of(std::size_t phase, int sender, int reader) const {
    std::vector<run> all;
    for (int from = first_of(sender); from < first_of(sender + 1); ++from)
      for (const int to : graph_.readers(phase, from)) {
        if (owner(to) != reader) continue;
        if (all.empty() || all.back().from.end < from)
          all.push_back({{from, from + 1}, {to, to + 1}});
        run& r = all.back();
        r.from.end = from + 1;
        r.to = {std::min(r.to.first, to), std::max(r.to.end, to + 1)};
      }
    return all;
  }
  // Of all own tasks in a run.
  [[nodiscard]] double inputs_of(long steps) const {
    double all = 0;
    for (long step = 1; step < steps; ++step) {
      const row before = graph_.row_of(step - 1, steps),
                mine = own_part(graph_.row_of(step, steps));
      for (int c = mine.first; c < mine.end; ++c)
        for (const int from : graph_.inputs(graph_.phase_of(step), c)) all += before.has(from);
    }
    return all;
  }

  // Whether the output that lies there is that of column `from` in the step before.
  void look(column_findings& found, long step, int column, int from, const stamp* first) const {
    const stamp wanted{step - 1, from};
    const stamp* is = first;
    do
      if (*is != wanted) [[unlikely]]
        return found.note(step, column, *is, wanted);
    while (++is != first + stamps_);
  }
  void finish(long step, int column, std::span<stamp> output) const {
    for (stamp& s : output) s = {step, column};
    if (how_.spoil) [[unlikely]]
      output.back().column = -1;
  }

  bench::peers& p_;
  settings how_;
  graph graph_;
  row own_;
  kernel kernel_;
  std::size_t stamps_;   // Of an output.
  std::size_t columns_;  // Of this rank.
  std::vector<column_findings> found_;
  std::map<long, double> runs_;  // How many runs had so many steps.
};

}  // namespace metg
