/* Global state, and the standard streams, which code of an executable reaches without a table. */
#include <mpi.h>
#include <stdio.h>

static int rank, size, sum;

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) fprintf(stdout, "C: %d ranks, sum %d\n", size, sum);
  MPI_Finalize();
  return 0;
}
