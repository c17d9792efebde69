// What weft-octree does from start to end, on each locality.
#pragma once
#include "octree/options.hpp"

namespace octree {

struct outcome {
  int signal = 0;     // That has ended it early; 0: none.
  bool right = true;  // What was checked.
};

// Called by every locality with the same options. `process`: a number that localities of one process share.
[[nodiscard]] outcome run_star(exchange& between, const program_options& options,
                               std::uint64_t process);

}  // namespace octree
