// The stacks of a job's ranks, those that wait and those that compute: equal stacks are shown once, with all their
// ranks, of all processes.
#pragma once
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "sched/worker.hpp"

namespace weft::diagnosis {

// Ranks with the same stack.
struct standing_ranks {
  std::string call;        // The call that they wait in; empty: they compute.
  std::string calls;       // The stack: lines, each of which ends with a newline.
  std::vector<int> ranks;  // In rising order.
  int chunk_of = -1;       // The rank whose stolen chunk they run; -1: their own code.
};

// The report: lines, each of which ends with a newline; empty when nothing is known. Joins equal stacks.
[[nodiscard]] std::string text_of(std::vector<standing_ranks> places);

// The text that one process sends another: "S call", "R first last..." (ranks) and "L line"...
[[nodiscard]] std::string written(const std::vector<standing_ranks>& places);
// Reads one line of that text; false when it is malformed.
bool read_line(std::vector<standing_ranks>& places, std::string_view line);

class waiting_stacks {
 public:
  // Called by each worker for its own ranks; several workers may call it at once. A fiber that does not wait adds
  // nothing.
  void add(worker& here, int rank, fiber& flow);
  // Called for a worker that comes to no wait, by another thread: adds the calls of the rank that it runs.
  void add_computing(const worker& other);
  // Called by one thread, with a stack of ordinary size, after all calls of add().
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

}  // namespace weft::diagnosis
