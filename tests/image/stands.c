/* Every rank receives from the one before it: the report of the deadlock names the place. Before, rank 0 runs a
   command. */
#include <mpi.h>
#include <stdlib.h>

static int rank, ranks, word;

static __attribute__((noinline)) void ring(void) {
  MPI_Recv(&word, 1, MPI_INT, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc > 1 && rank == 0 && system(argv[1]) != 0) return 1;
  ring();
  MPI_Finalize();
}
