#include "mpi/communicator.hpp"

#include "mpi/profiling.hpp"
#include "mpi/state.hpp"

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_Comm_rank, (MPI_Comm comm, int* rank)) {
  return in_call("MPI_Comm_rank", comm, [&](state& me) {
    check_not_null(rank, "rank");
    *rank = checked_communicator(me, comm).rank();
  }, comm);
}

WEFT_MPI_FUNCTION(int, MPI_Comm_size, (MPI_Comm comm, int* size)) {
  return in_call("MPI_Comm_size", comm, [&](state& me) {
    check_not_null(size, "size");
    *size = checked_communicator(me, comm).locals_count();
  }, comm);
}
