/* A small MPI program; the first rank prints what the process has in memory when all are in it. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#ifdef WITH_LIBRARY
int library_random(void);
#endif

int main(int argc, char** argv) {
  int rank, size, sum, from = -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
#ifdef WITH_LIBRARY
  library_random();
#endif
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &from, 1, MPI_INT, (rank + size - 1) % size, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    char line[256];
    long proportional = 0, kib, own = 0;
    FILE* const all = fopen("/proc/self/smaps_rollup", "r");
    while (all != NULL && fgets(line, sizeof line, all) != NULL) {
      sscanf(line, "Pss: %ld", &proportional);
      if (sscanf(line, "Pss_Anon: %ld", &kib) == 1 || sscanf(line, "Pss_Shmem: %ld", &kib) == 1)
        own += kib;
    }
    if (all != NULL) fclose(all);
    long mappings = 0;
    FILE* const each = fopen("/proc/self/maps", "r");
    for (int c = 0; each != NULL && (c = getc(each)) != EOF;) mappings += c == '\n';
    if (each != NULL) fclose(each);
    printf("ranks %d proportional_kib %ld sum %d own_kib %ld mappings %ld\n", size, proportional, sum, own, mappings);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
