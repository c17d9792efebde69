// The functions that weft does not have, listed in mpi_absent.h. Each ends in an error that names its chapter, so that a
// program links and the remedy is told.
#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"

namespace {

int refuse(const char* call, const char* chapter) {
  return weft::mpi::in_call_at_any_time(call, [&](weft::mpi::state&) {
    weft::mpi::fail(
        MPI_ERR_UNSUPPORTED_OPERATION,
        "{} are not part of weft yet: do without them, or run the program with another MPI",
        chapter);
  });
}

}  // namespace

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define WEFT_MPI_REFUSE(chapter, name, parameters) \
  WEFT_MPI_FUNCTION(int, name, parameters) {       \
    return refuse(#name, chapter);                 \
  }

#define WEFT_MPI_REFUSE_PROCESS(name, parameters) \
  WEFT_MPI_REFUSE("dynamic processes (spawn, connect, ports)", name, parameters)

WEFT_MPI_DYNAMIC_PROCESSES(WEFT_MPI_REFUSE_PROCESS)
