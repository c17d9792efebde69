/* Built as a static and as a shared library. */
#include <mpi.h>
#include <stdlib.h>

static int calls;

int library_calls(void) { return ++calls; }
int library_random(void) { return rand(); }
int library_rank(void) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
