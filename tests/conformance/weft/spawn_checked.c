/* Synchronous messages between a checked job and one that it starts: what ranks of the other job have done is not known here.

   Run with: --check -n 2 --workers 1 --timeout 60 */
#include "../conform.h"

static void talk(MPI_Comm between) {
  int value = rank, got = -1;
  MPI_Request request;
  MPI_Irecv(&got, 1, MPI_INT, 0, 1, between, &request);
  MPI_Ssend(&value, 1, MPI_INT, 0, 1, between);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_INT(got, 0);
  MPI_Issend(&value, 1, MPI_INT, 0, 2, between, &request);
  MPI_Recv(&got, 1, MPI_INT, 0, 2, between, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_INT(got, 0);
}

int main(int argc, char** argv) {
  MPI_Comm between;
  begin(&argc, &argv);
  MPI_Comm_get_parent(&between);
  if (between == MPI_COMM_NULL)
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between,
                   MPI_ERRCODES_IGNORE);
  if (rank == 0) talk(between);
  MPI_Comm_disconnect(&between);
  return end();
}
