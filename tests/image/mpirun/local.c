/* A thread-local variable at a fixed place, as executables have it. */
#include <mpi.h>
#include <stdio.h>
static _Thread_local int mine;
int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  mine += rank;
  fprintf(stdout, "mine %d\n", mine);
  MPI_Finalize();
  return 0;
}
