/* All ranks wait for two seconds in which nothing comes: rank 0 for the time, the others for its message. The processes then use a
   fiftieth of a core at most, each. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double used(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  int word = 0;
  if (rank == 0)
    usleep(100000);  /* Until all of them sleep. */
  else
    MPI_Recv(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 0)
    for (int i = 1; i < size; ++i) MPI_Send(&word, 1, MPI_INT, i, 1, MPI_COMM_WORLD);
  const double before = used();
  if (rank == 0) {
    sleep(2);
    for (int i = 1; i < size; ++i) MPI_Send(&word, 1, MPI_INT, i, 2, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&word, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  const double mine = used() - before;
  double most;
  MPI_Reduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0 && most <= 0.04)
    printf("right\n");
  else if (rank == 0)
    printf("a process has used %.3f s of 2 s\n", most);
  MPI_Finalize();
  return 0;
}
