// What each rank of weft-amr does from start to end.
#pragma once
#include <cstdint>
#include <weft/weft.hpp>

#include "amr/options.hpp"

namespace amr {

struct outcome {
  int signal = 0;     // That ended the run early; else 0.
  bool right = true;  // Whether the sums have stayed.
  std::uint64_t hash = 0;
};

// Collective, with the same options. The same outcome on every rank.
[[nodiscard]] outcome run_steps(weft::communicator& ranks, const program_options& options);

}  // namespace amr
