// Which process holds which ranks, and which worker is the home of which.
#pragma once
#include <string>
#include <vector>

namespace weft {

// The home of each rank. `map` is "block" (neighbours share a worker), "cyclic" (neighbours are on
// different workers), or the name of a file in MPICH_RANK_ORDER format: the ranks in the order in
// which they fill the workers, as numbers and ranges separated by commas or ends of lines; # begins
// a comment. Throws weft::error naming file, line and column.
std::vector<int> map_ranks(const std::string& map, int ranks, int workers);

// The ranks of one process: a block. The blocks of two processes differ by at most one rank.
struct rank_block {
  int first;
  int count;
};
rank_block ranks_of_process(int process, int ranks, int processes);

}  // namespace weft
