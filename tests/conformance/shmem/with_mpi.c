/* MPI and OpenSHMEM in one job, initialised in either order. */
#include <mpi.h>
#include "conform.h"

int main(int argc, char** argv) {
  const int mpi_first = argc > 1;
  if (mpi_first) MPI_Init(&argc, &argv);
  begin();
  if (!mpi_first) MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  EXPECT(rank == me && size == pes);
  static long word;
  for (long round = 1; round <= 50; ++round) {
    shmem_long_p(&word, round, NEXT);
    shmem_quiet();
    long token = round, got = 0;
    MPI_Sendrecv(&token, 1, MPI_LONG, NEXT, 0, &got, 1, MPI_LONG, LAST, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT(got == round && word == round); /* The message came after the put was complete. */
    long sum = 0;
    MPI_Allreduce(&word, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(sum == round * pes);
    shmem_barrier_all();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (mpi_first) {
    const int result = end();
    MPI_Finalize();
    return result;
  }
  MPI_Finalize();
  return end();
}
