/* Ranks that allocate and free large arrays again and again touch the same pages. Argument: bytes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static long faults(void) {
  struct rusage used;
  MPI_Barrier(MPI_COMM_WORLD);
  getrusage(RUSAGE_SELF, &used);
  MPI_Barrier(MPI_COMM_WORLD);
  return used.ru_minflt;
}

int main(int argc, char** argv) {
  enum { rounds = 20, page_bytes = 4096 };
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const size_t bytes = (size_t)atol(argv[argc - 1]);
  long before = 0;
  for (int round = -3; round < rounds; ++round) {
    if (round == 0) before = faults();
    char* volatile first = malloc(bytes);
    char* volatile second = malloc(bytes / 2);
    memset(first, round, bytes);
    memset(second, round, bytes / 2);
    MPI_Barrier(MPI_COMM_WORLD);
    free(first);
    MPI_Barrier(MPI_COMM_WORLD);
    free(second);
  }
  const long since = faults() - before;
  const long touched = (long)(bytes + bytes / 2) / page_bytes * rounds * size;
  if (rank == 0) printf("%s: %ld faults, %ld pages\n", since * 10 < touched ? "kept" : "given back", since, touched);
  MPI_Finalize();
  return 0;
}
