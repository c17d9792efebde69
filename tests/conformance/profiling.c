/* The program's own functions stand in for those of MPI, which have a second name. */
#include "conform.h"

static int sends, sizes;

int MPI_Send(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  ++sends;
  return PMPI_Send(buffer, count, type, to, tag, comm);
}
int MPI_Comm_size(MPI_Comm comm, int* result) {
  ++sizes;
  return PMPI_Comm_size(comm, result);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int got = -1;
  MPI_Request request;
  EXPECT_INT(sizes, 1);
  MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &request);
  MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
  PMPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT(got == (rank + size - 1) % size && sends == 1, "%d, %d sends", got, sends);
  PMPI_Barrier(MPI_COMM_WORLD);
  return end();
}
