#include "front/workers.hpp"

#include <sched.h>

#include <algorithm>

namespace front {

int workers_of(const weft::options& runtime) {
  if (runtime.workers > 0) return runtime.workers;
  if (runtime.schedule) return 1;
  cpu_set_t allowed;
  const int cores = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
  return runtime.ranks > 0 ? std::min(runtime.ranks, cores) : cores;
}

}  // namespace front
