// Where the events of a worker go that changes its threads. A thread keeps that of the worker which it runs.
#pragma once
#include <cstdint>

namespace weft {

struct worker_events {
  void* ring = nullptr;
  std::uint64_t trace = 0;  // The number of the trace that has the ring.
  int ran_last = -1;        // The rank that ran last on the worker.
};

// The calling thread has `with` from now on, and `with` becomes what it has had.
void exchange_events(worker_events& with) noexcept;

}  // namespace weft
