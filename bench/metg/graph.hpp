// Task graphs of the Task Bench method (Slaughter et al., SC 20): a row of columns, step after
// step; task (step, column) reads the outputs that some columns had in the step before.
//
//   trivial                nothing            no_comm                itself
//   stencil_1d             both neighbours    stencil_1d_periodic    the same, round a ring
//   dom                    itself, left       tree                   its parent, column / 2
//   fft                    itself, butterfly  nearest                `radix` columns around it
//   spread                 `radix` columns far apart, which move by one each step
//   random_nearest         itself and about half of `nearest`, others each step
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

class graph {
 public:
  // Columns 0 to columns - 1. Throws std::invalid_argument for a pattern that there is not.
  graph(const std::string& pattern, int columns, int radix)
      : pattern_(pattern), columns_(columns), radix_(std::clamp(radix, 1, columns)) {
    if (std::find(patterns().begin(), patterns().end(), pattern) == patterns().end()) {
      std::string known;
      for (const std::string& p : patterns()) known += " " + p;
      throw std::invalid_argument("no pattern '" + pattern + "'; there are:" + known);
    }
    for (int phase = 0; phase < period(); ++phase) {
      auto& inputs = inputs_.emplace_back(static_cast<std::size_t>(columns));
      auto& readers = readers_.emplace_back(static_cast<std::size_t>(columns));
      for (int column = 0; column < columns; ++column) {
        inputs[static_cast<std::size_t>(column)] = compute(phase, column);
        for (const int from : inputs[static_cast<std::size_t>(column)])
          readers[static_cast<std::size_t>(from)].push_back(column);
      }
    }
  }

  [[nodiscard]] int columns() const noexcept { return columns_; }
  // The columns whose outputs of step - 1 the task reads, in ascending order; step 0 reads none.
  [[nodiscard]] const std::vector<int>& inputs(long step, int column) const {
    return inputs_[phase_of(step)][static_cast<std::size_t>(column)];
  }
  // The columns whose tasks of `step` read what the column put out in step - 1.
  [[nodiscard]] const std::vector<int>& readers(long step, int column) const {
    return readers_[phase_of(step)][static_cast<std::size_t>(column)];
  }

 private:
  [[nodiscard]] int levels() const {
    int levels = 0;
    while ((1 << levels) < columns_) ++levels;
    return std::max(levels, 1);
  }
  [[nodiscard]] int period() const {
    return pattern_ == "fft"              ? levels()
           : pattern_ == "spread"         ? columns_
           : pattern_ == "random_nearest" ? 8
                                          : 1;
  }
  [[nodiscard]] std::size_t phase_of(long step) const {
    return static_cast<std::size_t>(step - 1) % inputs_.size();
  }
  [[nodiscard]] bool chosen(int phase, int column, int from) const {
    const auto key = static_cast<std::uint64_t>(phase) << 48 |
                     static_cast<std::uint64_t>(column) << 24 | static_cast<std::uint64_t>(from);
    return from == column || (hash(key) & 1) != 0;
  }

  [[nodiscard]] std::vector<int> compute(int phase, int column) const {
    std::vector<int> from;
    const auto range = [&](int first, int last) {
      for (int c = std::max(first, 0); c <= std::min(last, columns_ - 1); ++c) from.push_back(c);
    };
    const int left = column - (radix_ - 1) / 2;
    if (pattern_ == "no_comm") {
      from = {column};
    } else if (pattern_ == "stencil_1d") {
      range(column - 1, column + 1);
    } else if (pattern_ == "stencil_1d_periodic") {
      from = {(column + columns_ - 1) % columns_, column, (column + 1) % columns_};
    } else if (pattern_ == "dom") {
      range(column - 1, column);
    } else if (pattern_ == "tree") {
      from = {column / 2};
    } else if (pattern_ == "fft") {
      from = {column};
      if (const int other = column ^ (1 << phase); other < columns_) from.push_back(other);
    } else if (pattern_ == "nearest") {
      range(left, left + radix_ - 1);
    } else if (pattern_ == "spread") {
      for (int i = 0; i < radix_; ++i)
        from.push_back((column + phase + i * columns_ / radix_) % columns_);
    } else if (pattern_ == "random_nearest") {
      range(left, left + radix_ - 1);
      std::erase_if(from, [&](int c) { return !chosen(phase, column, c); });
    } else if (pattern_ == "all_to_all") {
      range(0, columns_ - 1);
    }
    std::sort(from.begin(), from.end());
    from.erase(std::unique(from.begin(), from.end()), from.end());
    return from;
  }

  std::string pattern_;
  int columns_, radix_;
  std::vector<std::vector<std::vector<int>>> inputs_, readers_;  // By phase, column.
};

}  // namespace metg
