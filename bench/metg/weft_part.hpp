// The back ends of tasks that only weft has: futures and parcels. See task_part.hpp.
#pragma once
#include <weft/parcels.hpp>
#include <weft/tasks.hpp>

#include "task_part.hpp"

namespace metg {

struct weft_group {
  weft::task_group group;
  template <class F>
  void run(F&& f) {
    group.spawn(std::forward<F>(f));
  }
  void wait() { group.wait(); }
  template <class F>
  static void within(F&& f) {
    f();
  }
};

class future_part final : public task_part {
 public:
  future_part(bench::peers& p, const settings& how) : task_part(p, how) {
    if (weft::locality_count() > 1)
      throw std::invalid_argument("the back end 'futures' is for one process: take 'parcels'");
    if (p.rank() == 0) mine_ = all_;
  }

  void run(long steps, long iterations) override {
    if (p_.rank() != 0) return;
    ++runs_[steps];
    // Of the last steps; others are kept by those that read them.
    std::vector<std::vector<output>> made(ahead);
    for (long step = 0; step < steps; ++step) {
      std::vector<output>& now = made[static_cast<std::size_t>(step % ahead)];
      for (const output& one : now)  // So far ahead of the tasks; without it memory would grow.
        if (one.valid()) one.wait();
      now.assign(static_cast<std::size_t>(all_.end), {});
      const row columns = nodes_.graph.row_of(step, steps);
      const row before = step > 0 ? nodes_.graph.row_of(step - 1, steps) : row{};
      const std::vector<output>& last = made[static_cast<std::size_t>((step + ahead - 1) % ahead)];
      for (int c = columns.first; c < columns.end; ++c)
        now[static_cast<std::size_t>(c)] = task(last, before, step, c, iterations);
    }
    for (const auto& row_of_step : made)
      for (const output& one : row_of_step)
        if (one.valid()) one.wait();
  }

 private:
  using value = std::vector<stamp>;
  using output = weft::shared_future<value>;
  static constexpr long ahead = 64;

  [[nodiscard]] output task(const std::vector<output>& last, const row& before, long step,
                            int column, long iterations) {
    std::vector<output> inputs;
    bool reads_itself = false;
    for (const int from : nodes_.graph.inputs(nodes_.graph.phase_of(step), column)) {
      reads_itself |= from == column;
      if (before.has(from)) inputs.push_back(last[static_cast<std::size_t>(from)]);
    }
    if (!reads_itself && before.has(column))
      inputs.push_back(last[static_cast<std::size_t>(column)]);
    const auto act = [this, before, step, column, iterations](std::span<const output> given) {
      std::size_t next = 0;
      nodes_.check(step, column, before, [&](int) { return std::span(given[next++].get()); });
      nodes_.compute(step, column, iterations);
      value made(nodes_.stamps);
      nodes_.fill(made, step, column);
      return made;
    };
    if (inputs.empty()) return weft::spawn([act] { return act({}); });
    return weft::when_all(std::move(inputs)).then([act](const std::vector<output>& given) {
      return act(given);
    });
  }
};

// Of each process the first rank that comes starts the tasks; they are found by the actions through here().
class parcel_part final : public task_part {
 public:
  parcel_part(bench::peers& p, const settings& how) : task_part(p, how), leads_(enter(this)) {
    const int count = weft::locality_count();
    for (int locality = 0; locality <= count; ++locality)
      first_of_.push_back(static_cast<int>(static_cast<long>(locality) * all_.end / count));
    here_ = weft::here().number();
    if (leads_) mine_ = {first_of_[index(here_)], first_of_[index(here_ + 1)]};
    p_.barrier();  // No parcel comes before there is somebody to take it.
  }
  ~parcel_part() override {
    p_.barrier();
    if (leads_) leave();
    p_.barrier();
  }

  void run(long steps, long iterations) override {
    if (leads_) {
      ++runs_[steps];
      table_.begin(nodes_, steps, iterations);
      long count = 0;
      for (long step = 0; step < steps; ++step) {
        const row now = own_part(nodes_.graph.row_of(step, steps));
        count += std::max(0, now.end - now.first);
      }
      left_.store(count, std::memory_order_relaxed);
      ended_ = weft::promise<void>();
    }
    p_.barrier();  // Nobody sends before the counters are set.
    if (!leads_ || left_.load(std::memory_order_relaxed) == 0) return;
    weft::future<void> end = ended_.get_future();
    for (long step = 0; step < steps; ++step) {
      const row whole = nodes_.graph.row_of(step, steps), before = table_.before_of(nodes_, step);
      const row now = own_part(whole);
      for (int c = now.first; c < now.end; ++c)
        if (nodes_.needs(step, c, before) == 0) start(step, c);
      if (before.end - before.first == all_.end) break;
    }
    end.get();
  }

  // What other localities post: the output of a task.
  static void take_one(std::int64_t step, std::int32_t column, const stamp& value) {
    current_->take(step, column, {&value, 1});
  }
  static void take_many(std::int64_t step, std::int32_t column, const std::vector<stamp>& value) {
    current_->take(step, column, value);
  }

 private:
  static std::size_t index(int of) { return static_cast<std::size_t>(of); }
  static bool enter(parcel_part* part) {
    const std::lock_guard hold(entering_);
    if (current_ != nullptr) return false;
    current_ = part;
    return true;
  }
  static void leave() {
    const std::lock_guard hold(entering_);
    current_ = nullptr;
  }
  [[nodiscard]] row own_part(const row& of) const {
    return {std::max(of.first, mine_.first), std::min(of.end, mine_.end)};
  }
  [[nodiscard]] int owner(int column) const {
    return static_cast<int>(std::upper_bound(first_of_.begin(), first_of_.end(), column) -
                            first_of_.begin()) -
           1;
  }
  void start(long step, int column) {
    static_cast<void>(weft::spawn([this, step, column] { task(step, column); }));
  }
  void task(long step, int column) {
    nodes_.check(step, column, table_.before_of(nodes_, step),
                 [&](int from) { return table_.output(step - 1, from); });
    nodes_.compute(step, column, table_.iterations());
    const std::span<stamp> output = table_.output(step, column);
    nodes_.fill(output, step, column);
    if (const long next = step + 1; next < table_.steps()) {
      const row after = nodes_.graph.row_of(next, table_.steps());
      int told =
          here_;  // Followers are in ascending order, but for the column itself, which is here.
      for (const int c : nodes_.followers(next, column)) {
        if (!after.has(c)) continue;
        if (mine_.has(c)) {
          if (table_.count_down(next, c)) start(next, c);
          continue;
        }
        const int there = owner(c);
        if (std::exchange(told, there) != there) send(there, step, column, output);
      }
    }
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) ended_.set_value();
  }
  static void send(int there, long step, int column, std::span<const stamp> output) {
    if (output.size() == 1)
      weft::post(weft::locality(there), weft::action<&take_one>, std::int64_t{step}, column,
                 output[0]);
    else
      weft::post(weft::locality(there), weft::action<&take_many>, std::int64_t{step}, column,
                 std::vector<stamp>(output.begin(), output.end()));
  }
  // In an action, which is a task itself: it runs the last of the tasks that it makes ready.
  void take(long step, int column, std::span<const stamp> value) {
    std::copy(value.begin(), value.end(), table_.output(step, column).begin());
    const long next = step + 1;
    const row after = own_part(nodes_.graph.row_of(next, table_.steps()));
    int ready = -1;
    for (const int c : nodes_.followers(next, column))
      if (after.has(c) && table_.count_down(next, c))
        if (const int other = std::exchange(ready, c); other >= 0) start(next, other);
    if (ready >= 0) task(next, ready);
  }

  static inline std::mutex entering_;
  static inline parcel_part* current_ = nullptr;
  const bool leads_;
  int here_ = 0;
  std::vector<int> first_of_;  // Columns, by locality, and the end.
  task_table table_;
  std::atomic<long> left_{0};
  weft::promise<void> ended_;
};

}  // namespace metg
