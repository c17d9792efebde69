// Loops over atoms: as loop tasks, whose chunks waiting ranks steal, or plainly. Results are the
// same: every chunk writes only to its own atoms.
#pragma once
#include <algorithm>
#include <cstddef>
#include <weft/weft.hpp>

namespace md {

class atom_loops {
 public:
  // Atoms in the smallest chunk, some 10 µs of work, and a multiple of cache lines of every field:
  // for passes over neighbours, and for loops that touch each atom once.
  static constexpr std::size_t heavy = 32, light = 1024;

  explicit atom_loops(bool tasks) : tasks_(tasks) {}

  // Calls body(begin, end) for ranges that cover 0 … atoms.
  template <class Body>
  void for_ranges(std::size_t atoms, std::size_t grain, Body&& body) const {
    if (!tasks_) return body(std::size_t{0}, atoms);
    weft::parallel_for(0, atoms, [&](weft::range_1d r) { body(r.begin, r.end); }, {.grain = grain});
  }

  // The largest of what body(begin, end) returns, at least 0.
  template <class Body>
  double max_over_ranges(std::size_t atoms, std::size_t grain, Body&& body) const {
    if (!tasks_) return body(std::size_t{0}, atoms);
    return weft::parallel_reduce(
        0, atoms, 0.0, [&](weft::range_1d r) { return body(r.begin, r.end); },
        [](double a, double b) { return std::max(a, b); }, {.grain = grain});
  }

 private:
  bool tasks_;
};

}  // namespace md
