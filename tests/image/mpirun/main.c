/* Its program. */
#include <mpi.h>
#include <stdio.h>
int rank_here(void);
static int zero;
int elsewhere(void) { return zero; }
int main(void) {
  MPI_Init(NULL, NULL);
  printf("rank %d\n", rank_here());
  zero = 1;
  return MPI_Finalize();
}
