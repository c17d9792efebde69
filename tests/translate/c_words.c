/* C that C++ takes only when it is written otherwise. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE "zu"

enum state { idle, busy };
struct whole {
  double x, y;
  double force[2];
};

static int total(const int values[], int count) {
  register int i, sum = 0;
  for (i = 0; i < count; ++i) sum += values[i];
  return sum;
}

static int twice(int new) { return 2 * new; }

static char* name_of(enum state s) { return s == idle ? "idle" : "busy"; }

static void copy(double* restrict to, const double* restrict from) { *to = *from; }

int main(int argc, char** argv) {
  int rank, size, provided = argc;
  struct whole* parts;
  double first = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  parts = calloc(3, sizeof *parts);
  parts[2].force[1] = rank + 0.25;
  MPI_Allreduce(MPI_IN_PLACE, parts, 12, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  copy(&first, &parts[2].force[1]);
  printf("rank %d: %d, %s, %"SIZE" bytes, %c, %g of %d\n", rank, total((int[]){rank, 2, 3}, 3), name_of(rank % 2),
         sizeof 'a', "xyz"[rank % 3], first, size * twice(provided) / 2);
  free(parts);
  MPI_Finalize();
  return 0;
}
