// How many workers a job will have, and what they can win by sharing work.
#pragma once
#include <cstddef>
#include <vector>
#include <weft/communicator.hpp>
#include <weft/options.hpp>

namespace front {

// As many as the runtime will take, in this process, of a program whose ranks it starts.
[[nodiscard]] int workers_of(const weft::options& runtime);

// In how many processes, of any hosts, the ranks of a communicator are. Collective.
[[nodiscard]] int processes_of(const weft::communicator& ranks);

// The most that perfect sharing of the ranks' work among the workers can win over each worker
// doing its own, for ranks in blocks: the largest share of a worker over the mean one. Each process
// has so many workers, which share nothing with those of others.
[[nodiscard]] double sharing_limit(const std::vector<std::size_t>& work_of_rank, int workers,
                                   int processes = 1);

}  // namespace front
