/* Each rank passes a number on around the ring. Says "right" in rank 0 when all have arrived. */
#include <mpi.h>
#include <stdio.h>

static int passed; /* Private to the rank. */

int main(int argc, char** argv) {
  int rank, size, got = -1;
  MPI_Status status;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) {
    passed = 1;
    MPI_Send(&passed, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD);
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    printf(got == size && status.MPI_SOURCE == size - 1 && status.MPI_TAG == 7 ? "right\n"
                                                                                : "wrong\n");
  } else {
    MPI_Recv(&got, 1, MPI_INT, rank - 1, 7, MPI_COMM_WORLD, &status);
    passed = got + 1;
    PMPI_Send(&passed, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
