// Which worker is the home of which rank.
#pragma once
#include <string>
#include <vector>

namespace weft {

// The home of each rank. `map` is "block" (neighbours share a worker), "cyclic" (neighbours are on
// different workers), or the name of a file in MPICH_RANK_ORDER format: the ranks in the order in
// which they fill the workers, as numbers and ranges separated by commas or ends of lines; # begins
// a comment. Throws weft::error naming file, line and column.
std::vector<int> map_ranks(const std::string& map, int ranks, int workers);

}  // namespace weft
