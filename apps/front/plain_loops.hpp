// Loops of a rank by itself, in the form of loops that others share: body(begin, end) is called for parts of [0, count), of `grain`
// indices where it matters. Without weft, since the MPI forms of programs include it.
#pragma once
#include <algorithm>
#include <cstddef>

namespace front {

struct plain_loops {
  template <class Body>
  void for_ranges(std::size_t count, std::size_t, Body&& body) const {
    body(std::size_t{0}, count);
  }
  // The sum of what body returns, in the order of the parts: the same whoever runs which.
  template <class T, class Body>
  [[nodiscard]] T sum_over_ranges(std::size_t count, std::size_t grain, Body&& body) const {
    T sum{};
    for (std::size_t begin = 0; begin < count; begin += grain)
      sum = sum + body(begin, std::min(count, begin + grain));
    return sum;
  }
};

}  // namespace front
