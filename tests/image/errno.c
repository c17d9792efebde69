/* A function that uses errno on both sides of a wait, after which its rank may be on another thread. -DPLAIN: as a
   compiler has it that weftcc has not called. */
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef PLAIN
#undef errno
#define errno (*__errno_location())
#endif

int main(int argc, char** argv) {
  int rank, size, got, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < 200; ++round) {
    errno = 1000 + rank;
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (errno != 1000 + rank) ++wrong;
    errno = 0;
    usleep(50);
    (void)strtol("99999999999999999999999", NULL, 10);
    if (errno != ERANGE) ++wrong;
  }
  printf("%s\n", wrong == 0 ? "right" : "wrong");
  MPI_Finalize();
  return wrong != 0;
}
