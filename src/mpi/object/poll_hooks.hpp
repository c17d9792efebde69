// Functions of the program that are called while a rank waits: MPIX_Async_start.
#pragma once
#include <memory>
#include <vector>

#include "mpi/mpi.h"
#include "weft/communicator.hpp"

namespace weft::mpi {

struct state;

// What the program's handle of one points to.
struct poll_hook {
  MPIX_Async_poll_function* poll = nullptr;
  void* extra_state = nullptr;
  std::vector<std::unique_ptr<poll_hook>> spawned;  // By its function, in the round that runs.
};

// Those of one rank. They run on a fiber of their own, which is there while there are any.
struct poll_hooks {
  std::vector<std::unique_ptr<poll_hook>> all;
  weft::request fiber;
  bool runs = false;
};

// Called by MPI_Finalize, and at the end of the last session: returns when all are done.
void finish_poll_hooks(state& me);

}  // namespace weft::mpi
