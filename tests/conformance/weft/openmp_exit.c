/* Ranks that end inside a region: its other threads may begin after that, while the next rank runs on the same
   stack.

   Run with: -n 6 --workers 1 --timeout 60 */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int level, rank, one = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#pragma omp parallel num_threads(3)
  {
#pragma omp barrier
  }
  MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && one == 6) puts("right");
  MPI_Finalize();
#pragma omp parallel num_threads(4)
  if (omp_get_thread_num() == 0) exit(0);
  return 1;
}
