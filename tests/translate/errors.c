/* Error codes that the program looks at stay MPI's; those that it throws away go. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int checked(int code, const char* what) {
  if (code != MPI_SUCCESS) {
    fprintf(stderr, "%s failed\n", what);
    exit(1);
  }
  return code;
}

int main(int argc, char** argv) {
  int rank, ierr, sum = 0;
  ierr = MPI_Init(&argc, &argv);
  ierr = MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int result = MPI_Barrier(MPI_COMM_WORLD);
  checked(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), "the sum");
  if (MPI_Bcast(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD) != MPI_SUCCESS) return 1;
  (void)MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d: %d\n", rank, sum);
  ierr = MPI_Finalize();
  return 0;
}
