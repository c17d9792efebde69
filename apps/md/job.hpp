// What each rank of weft-md does from start to end.
#pragma once
#include <weft/weft.hpp>

#include "md/options.hpp"

namespace md {

// Called by every rank with the same kernel and options. Returns the signal that has ended it early, on every
// rank; else 0.
[[nodiscard]] int run_crystal(weft::communicator& ranks, const eam_kernel& kernel,
                              const program_options& options);
// Only the halo exchange, timed; prints one line of CSV with its header.
void run_halo_exchange(weft::communicator& ranks, const eam_kernel& kernel,
                       const program_options& options);

}  // namespace md
