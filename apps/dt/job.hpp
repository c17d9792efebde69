// What each rank of weft-dt does from start to end.
#pragma once
#include <cstdint>
#include <weft/weft.hpp>

#include "dt/options.hpp"

namespace dt {

// Seconds after its wave's start of what a node did.
struct interval {
  std::int32_t node;
  activity what;
  double begin, end;
};

struct outcome {
  int signal = 0;     // That ended the run early; else 0.
  bool right = true;  // Whether all checks passed.
  std::uint64_t checksum = 0;
};

// Collective, with the same options. The same outcome on every rank. Throws weft::error when the graph has more nodes than the job
// has ranks.
[[nodiscard]] outcome run_waves(weft::communicator& ranks, const program_options& options);

}  // namespace dt
