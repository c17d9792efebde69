#include "front/workers.hpp"

#include <sched.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

namespace front {

int workers_of(const weft::options& runtime) {
  if (runtime.workers > 0) return runtime.workers;
  if (runtime.schedule) return 1;
  cpu_set_t allowed;
  const int cores = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
  return runtime.ranks > 0 ? std::min(runtime.ranks, cores) : cores;
}

int processes_of(const weft::communicator& ranks) {
  static const unsigned process = std::random_device{}();
  const std::vector<unsigned> of_ranks = ranks.allgather(process);
  return static_cast<int>(std::set(of_ranks.begin(), of_ranks.end()).size());
}

double sharing_limit(const std::vector<std::size_t>& work_of_rank, int workers, int processes) {
  std::vector<double> work(static_cast<std::size_t>(workers * processes));
  for (std::size_t rank = 0; rank < work_of_rank.size(); ++rank)
    work[rank * work.size() / work_of_rank.size()] += static_cast<double>(work_of_rank[rank]);
  double shared = 0;  // By the workers of the process that has most to do.
  for (auto first = work.begin(); first != work.end(); first += workers)
    shared = std::max(shared, std::accumulate(first, first + workers, 0.0) / workers);
  return shared > 0 ? *std::ranges::max_element(work) / shared : 1.0;
}

}  // namespace front
