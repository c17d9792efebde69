// What a task does: a number of iterations that nobody can leave out, in pieces that may run on
// different cores.
//
//   compute    64 multiply-adds each, in registers
//   memory     one pass over 4 KiB of the column's own memory each, which is larger than caches
//   imbalance  compute, but a task's iterations are those asked for, times a factor between
//              1 - imbalance / 2 and 1 + imbalance / 2 that a hash of (step, column) draws
#pragma once
#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "graph.hpp"

namespace metg {

class kernel {
 public:
  static constexpr std::size_t pass_bytes = 4096;

  // `scratch_bytes` of memory per column, for the memory kernel.
  kernel(const std::string& kind, double imbalance, int columns, std::size_t scratch_bytes)
      : memory_(kind == "memory"), imbalance_(kind == "imbalance" ? imbalance : 0) {
    if (kind != "compute" && kind != "memory" && kind != "imbalance")
      throw std::invalid_argument("no kernel '" + kind + "'; there are: compute memory imbalance");
    if (imbalance < 0 || imbalance > 2)
      throw std::invalid_argument("imbalance " + std::to_string(imbalance) + ": 0 to 2");
    if (memory_) {
      const std::size_t doubles = std::max(scratch_bytes, pass_bytes) / sizeof(double);
      scratch_.assign(static_cast<std::size_t>(columns), std::vector<double>(doubles, 1.0));
    }
  }

  // The iterations of one task when each is asked for `iterations`.
  [[nodiscard]] long iterations_of(long step, int column, long iterations) const {
    if (imbalance_ == 0) return iterations;
    const auto key = static_cast<std::uint64_t>(step) << 20 | static_cast<std::uint64_t>(column);
    const double drawn = static_cast<double>(hash(key) >> 11) * 0x1p-53;
    return static_cast<long>(static_cast<double>(iterations) * (1 + imbalance_ * (drawn - 0.5)));
  }

  // Iterations [first, last) of a task of this column (its number among those of its rank).
  void run(std::size_t column, long first, long last) {
    if (memory_)
      pass(scratch_[column], first, last);
    else
      multiply(last - first);
  }

 private:
  // As many chains as keep the arithmetic busy. Were they fewer, a task could run in the shadow of the one before
  // it, and many short tasks would seem to be less work than few long ones.
  static void multiply(long iterations) {
    using pair = double __attribute__((vector_size(16)));
    pair a[8];
    for (int k = 0; k < 8; ++k) a[k] = pair{1 + 0.1 * k, 1.05 + 0.1 * k};
    for (long i = 0; i < iterations; ++i)
#pragma GCC unroll 4
      for (int round = 0; round < 4; ++round)
#pragma GCC unroll 8
        for (pair& x : a) x = x * 0.999 + 0.001;
    pair sum = a[0];
    for (int k = 1; k < 8; ++k) sum += a[k];
    keep(&sum);
  }
  static void pass(std::vector<double>& memory, long first, long last) {
    constexpr std::size_t each = pass_bytes / sizeof(double);
    const std::size_t blocks = memory.size() / each;
    for (long i = first; i < last; ++i) {
      double* const block = memory.data() + static_cast<std::size_t>(i) % blocks * each;
      for (std::size_t k = 0; k < each; ++k) block[k] = block[k] * 0.999 + 0.001;
      keep(block);
    }
  }
  // What the pointer reaches counts as read and changed.
  static void keep(const void* values) {
    asm volatile("" : : "g"(values) : "memory");
  }

  bool memory_;
  double imbalance_;
  std::vector<std::vector<double>> scratch_;
};

}  // namespace metg
