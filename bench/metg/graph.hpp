// Task graphs of Task Bench (Slaughter et al., SC 20): steps of a row of columns; task (step, column)
// reads what some columns put out in the step before.
//
//   trivial                nothing             no_comm                itself
//   stencil_1d             itself, neighbours  stencil_1d_periodic    the same, round a ring
//   dom                    itself, left; the row grows from column 0 and shrinks towards the last
//   tree                   its parent, column / 2; each row has twice the columns of the one before
//   fft                    itself and both columns at the distance 2^k; k changes with the step
//   nearest                `radix` columns around it
//   spread                 `radix` columns far apart; all but itself move on with the step
//   random_nearest         itself and a quarter of `nearest`, others in the next step
//   all_to_all             all
#pragma once
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace metg {

inline std::uint64_t hash(std::uint64_t x) {
  x = (x + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 29)) * 0x94d049bb133111eb;
  return x ^ (x >> 32);
}

inline const std::vector<std::string>& patterns() {
  static const std::vector<std::string> all{
      "trivial", "no_comm", "stencil_1d", "stencil_1d_periodic", "dom",       "tree",
      "fft",     "nearest", "spread",     "random_nearest",      "all_to_all"};
  return all;
}

// Columns [first, end).
struct row {
  int first = 0;
  int end = 0;
  [[nodiscard]] bool has(int column) const noexcept { return first <= column && column < end; }
};

class graph {
 public:
  // Columns 0 to width - 1. Throws std::invalid_argument for a pattern that there is not.
  graph(const std::string& pattern, int width, int radix)
      : pattern_(pattern),
        grows_(pattern == "tree" || pattern == "dom"),
        shrinks_(pattern == "dom"),
        width_(width),
        radix_(std::max(radix, 1)),
        spread_(std::min(radix_, width)) {
    if (std::find(patterns().begin(), patterns().end(), pattern) == patterns().end()) {
      std::string known;
      for (const std::string& p : patterns()) known += " " + p;
      throw std::invalid_argument("no pattern '" + pattern + "'; there are:" + known);
    }
    for (int phase = 0; phase < period(); ++phase) {
      auto& inputs = inputs_.emplace_back(static_cast<std::size_t>(width));
      auto& readers = readers_.emplace_back(static_cast<std::size_t>(width));
      for (int column = 0; column < width; ++column) {
        inputs[static_cast<std::size_t>(column)] = inputs_of(phase, column);
        for (const int from : inputs[static_cast<std::size_t>(column)])
          readers[static_cast<std::size_t>(from)].push_back(column);
      }
    }
  }

  [[nodiscard]] int width() const noexcept { return width_; }
  // The columns that have a task in a step of `steps`.
  [[nodiscard]] row row_of(long step, long steps) const noexcept {
    if (!grows_) return {0, width_};
    if (!shrinks_) return {0, step < 31 ? std::min(width_, 1 << step) : width_};
    const auto first = static_cast<int>(std::max(0L, step + width_ - steps));
    return {first, first + static_cast<int>(
                               std::min({static_cast<long>(width_), step + 1, steps - step}))};
  }
  [[nodiscard]] long tasks(long steps) const noexcept {
    long all = 0;
    for (long step = 0; step < steps; ++step) {
      const row here = row_of(step, steps);
      all += here.end - here.first;
    }
    return all;
  }

  // Dependences repeat after so many steps.
  [[nodiscard]] std::size_t phases() const noexcept { return inputs_.size(); }
  [[nodiscard]] std::size_t phase_of(long step) const noexcept {
    if (phases() == 1) return 0;
    const long shifted = pattern_ == "fft" ? step - 1 + static_cast<long>(phases()) : step;
    return static_cast<std::size_t>(shifted) % phases();
  }
  // The columns whose outputs of the step before a task of the phase reads, in ascending order: those
  // of them that had a task.
  [[nodiscard]] const std::vector<int>& inputs(std::size_t phase, int column) const {
    return inputs_[phase][static_cast<std::size_t>(column)];
  }
  // The columns whose tasks of the phase read what the column put out in the step before.
  [[nodiscard]] const std::vector<int>& readers(std::size_t phase, int column) const {
    return readers_[phase][static_cast<std::size_t>(column)];
  }

 private:
  [[nodiscard]] int period() const {
    int levels = 0;
    while ((1 << levels) < width_) ++levels;
    if (pattern_ == "fft") return std::max(levels, 1);
    if (pattern_ == "spread") return std::min(3, (width_ + spread_ - 1) / spread_);
    return pattern_ == "random_nearest" ? 3 : 1;
  }
  [[nodiscard]] static bool chosen(int phase, int column, int from) {
    const auto key = static_cast<std::uint64_t>(phase) << 48 |
                     static_cast<std::uint64_t>(column) << 24 | static_cast<std::uint64_t>(from);
    return from == column || hash(key) >> 62 == 0;
  }

  [[nodiscard]] std::vector<int> inputs_of(int phase, int column) const {
    std::vector<int> from;
    const auto range = [&](int first, int last) {
      for (int c = std::max(first, 0); c <= std::min(last, width_ - 1); ++c) from.push_back(c);
    };
    if (pattern_ == "no_comm") {
      from = {column};
    } else if (pattern_ == "stencil_1d") {
      range(column - 1, column + 1);
    } else if (pattern_ == "stencil_1d_periodic") {
      from = {(column + width_ - 1) % width_, column, (column + 1) % width_};
    } else if (pattern_ == "dom") {
      range(column - 1, column);
    } else if (pattern_ == "tree") {
      from = {column / 2};
    } else if (pattern_ == "fft") {
      for (const int c : {column - (1 << phase), column, column + (1 << phase)}) range(c, c);
    } else if (pattern_ == "nearest" || pattern_ == "random_nearest") {
      range(column - radix_ / 2, column + (radix_ - 1) / 2);
      if (pattern_ == "random_nearest")
        std::erase_if(from, [&](int c) { return !chosen(phase, column, c); });
    } else if (pattern_ == "spread") {
      for (int i = 0; i < spread_; ++i)
        from.push_back((column + i * width_ / spread_ + (i > 0 ? phase : 0)) % width_);
    } else if (pattern_ == "all_to_all") {
      range(0, width_ - 1);
    }
    std::sort(from.begin(), from.end());
    from.erase(std::unique(from.begin(), from.end()), from.end());
    return from;
  }

  std::string pattern_;
  bool grows_, shrinks_;
  int width_, radix_;
  int spread_;  // The radix, where columns must differ.
  std::vector<std::vector<std::vector<int>>> inputs_, readers_;  // By phase, column.
};

}  // namespace metg
