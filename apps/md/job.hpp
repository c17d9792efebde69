// What each rank of weft-md does from start to end.
#pragma once
#include <cstddef>
#include <vector>
#include <weft/weft.hpp>

#include "md/options.hpp"

namespace md {

// The most that perfect sharing of the ranks' work among the workers can win over each worker
// doing its own, for ranks in blocks: the largest share of a worker over the mean one. Each process
// has so many workers, which share nothing with those of others.
double sharing_limit(const std::vector<std::size_t>& work_of_rank, int workers, int processes = 1);

// Called by every rank with the same kernel and options. Returns the signal that has ended it early, on every
// rank; else 0.
[[nodiscard]] int run_crystal(weft::communicator& ranks, const eam_kernel& kernel,
                              const program_options& options);
// Only the halo exchange, timed; prints one line of CSV with its header.
void run_halo_exchange(weft::communicator& ranks, const eam_kernel& kernel,
                       const program_options& options);

}  // namespace md
