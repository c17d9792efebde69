// Which ranks should share a worker, from the breakdown of an earlier run: what each computes, and what they send to each other.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "breakdown/analysis.hpp"

namespace weft::breakdown {

// What a message costs more between workers than within one.
struct mapping_costs {
  double seconds_of_message = 200e-9;
  double seconds_of_byte = 0.1e-9;
};

struct mapping_quality {
  double most_seconds = 0;  // What the ranks of the busiest worker compute.
  double messages = 0;      // Between workers.
  double bytes = 0;
};

struct mapping {
  int workers = 1;
  std::vector<int>
      order;  // The ranks in the order in which they fill the workers, as a file of --map has them.
  std::vector<int> worker_of;  // By rank.
  mapping_quality quality, of_blocks;
  std::size_t pairs_tried = 0;  // What the search has cost.
};

// The same numbers of ranks on each worker as --map has them. A good one, not the best: ranks change places by twos as long as that
// makes the busiest worker's computation and the messages between workers less. Each rank tries a bounded number of others. Throws weft::error when there are more workers
// than ranks, or the breakdown has not seen all ranks.
[[nodiscard]] mapping map_by_communication(const summary& s, int workers,
                                           const mapping_costs& costs = {});

// A file for --map, with comments that say what it is made for.
[[nodiscard]] std::string text_of(const mapping& m, const summary& s);

}  // namespace weft::breakdown
