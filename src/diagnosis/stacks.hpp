// Where the waiting ranks of a job stand in the program, and those that compute: equal stacks once, with
// all their ranks, in whatever processes they are.
#pragma once
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "sched/worker.hpp"

namespace weft::detail {

// Ranks that stand at the same place.
struct standing_ranks {
  std::string call;        // That they wait in; empty: they compute.
  std::string calls;       // Lines, each of which ends with a newline.
  std::vector<int> ranks;  // In rising order.
  int chunk_of = -1;       // Of ranks that compute: of whose loop, when they have stolen it.
};

// Lines, each of which ends with a newline; empty when nothing is known. Equal places are one.
[[nodiscard]] std::string text_of(std::vector<standing_ranks> places);

// As one process writes it for another: "S call", "R first last..." (ranks) and "L line"...
[[nodiscard]] std::string written(const std::vector<standing_ranks>& places);
// Takes one such line; false when it is none.
bool read_line(std::vector<standing_ranks>& places, std::string_view line);

class waiting_stacks {
 public:
  // Called by each worker, for its own ranks; by several at once. A fiber that does not wait adds nothing.
  void add(worker& here, int rank, fiber& flow);
  // For a worker that comes to no wait: the calls of the rank that it runs.
  void add_computing(const worker& other);
  // Called by one thread, with a stack of ordinary size, when the workers are done.
  [[nodiscard]] std::vector<standing_ranks> places() const;

 private:
  struct stack {
    int rank;
    const char* call;  // The wait's; static. Empty: it computes.
    std::vector<std::uintptr_t> calls;
    int chunk_of = -1;
  };
  std::mutex lock_;
  std::vector<stack> stacks_;
};

}  // namespace weft::detail
