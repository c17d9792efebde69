/* A library that calls a function of its program, which it does not name to the linker. */
#include <mpi.h>
int elsewhere(void);
int rank_here(void) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank + elsewhere();
}
