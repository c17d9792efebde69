// Where the waiting ranks of a job stand in the program, and those that compute: equal stacks once, with all their ranks.
#pragma once
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "rank/state.hpp"

namespace weft::detail {

class waiting_stacks {
 public:
  // Called by each worker, for its own ranks; by several at once.
  void add(job& j, worker& here);
  // For a worker that comes to no wait: the calls of the rank that it runs.
  void add_computing(const worker& other);
  // Called by one thread, with a stack of ordinary size, when the workers are done. Lines, each of
  // which ends with a newline; empty when nothing is known.
  [[nodiscard]] std::string text() const;

 private:
  struct stack {
    int rank;
    const char* call;  // The wait's; static. Empty: it computes.
    std::vector<std::uintptr_t> calls;
  };
  std::mutex lock_;
  std::vector<stack> stacks_;
};

// "0-4,7" of numbers in rising order.
[[nodiscard]] std::string ranges_of(std::span<const int> ranks);

}  // namespace weft::detail
