/* A thread-local variable: only the wrapper links it so that a process can hold several copies. */
#include <mpi.h>
#include <stdio.h>

static _Thread_local int calls;

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  calls += rank + 1;
  MPI_Finalize();
  if (rank == 0) printf("calls %d\n", calls);
  return 0;
}
