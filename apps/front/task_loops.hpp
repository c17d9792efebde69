// Loops of programs as loop tasks.
#pragma once
#include <cstddef>
#include <functional>
#include <weft/weft.hpp>

#include "front/plain_loops.hpp"

namespace front {

// Loops whose parts waiting ranks steal, or plain loops over the same parts.
class task_loops {
 public:
  explicit task_loops(bool tasks) : tasks_(tasks) {}

  template <class Body>
  void for_ranges(std::size_t count, std::size_t grain, Body&& body) const {
    if (!tasks_) return plain_loops{}.for_ranges(count, grain, body);
    weft::parallel_for(0, count, [&](weft::range_1d r) { body(r.begin, r.end); }, {.grain = grain});
  }
  template <class T, class Body>
  [[nodiscard]] T sum_over_ranges(std::size_t count, std::size_t grain, Body&& body) const {
    if (!tasks_) return plain_loops{}.sum_over_ranges<T>(count, grain, body);
    return weft::parallel_reduce(0, count, T{},
                                 [&](weft::range_1d r) { return body(r.begin, r.end); },
                                 std::plus<>{}, {.grain = grain});
  }

 private:
  bool tasks_;
};

}  // namespace front
