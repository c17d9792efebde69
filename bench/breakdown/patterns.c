/* What scale.py records, and runs with other numbers of ranks: patterns row|grid|allreduce STEPS LOOPS-OF-WORK BYTES.
   Each rank has the same work in each step; row and grid exchange borders with their neighbours, and no border wraps. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile double sink;

/* The same number of steps in every run and rank: of processor time, not of the clock's. */
static void compute(long count) {
  for (long i = 0; i < count; ++i) sink = sink * 0.5 + 1;
}

static int exchange(MPI_Comm grid, int dimensions, char* out, char* in, int bytes) {
  MPI_Request all[8];
  int count = 0;
  for (int d = 0; d < dimensions; ++d) {
    int near[2];
    MPI_Cart_shift(grid, d, 1, &near[0], &near[1]);
    for (int side = 0; side < 2; ++side)
      if (near[side] != MPI_PROC_NULL) {
        MPI_Irecv(in + (2 * d + side) * bytes, bytes, MPI_CHAR, near[side], 2 * d + 1 - side, grid,
                  &all[count++]);
        MPI_Isend(out, bytes, MPI_CHAR, near[side], 2 * d + side, grid, &all[count++]);
      }
  }
  return MPI_Waitall(count, all, MPI_STATUSES_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 5) {
    fprintf(stderr, "patterns row|grid|allreduce STEPS LOOPS-OF-WORK BYTES\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int steps = atoi(argv[2]), bytes = atoi(argv[4]),
            dimensions = strcmp(argv[1], "grid") == 0 ? 2 : 1;
  const long work = atol(argv[3]);
  int size, sides[2] = {0, 0}, wraps[2] = {0, 0};
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Dims_create(size, dimensions, sides);
  MPI_Comm grid;
  MPI_Cart_create(MPI_COMM_WORLD, dimensions, sides, wraps, 0, &grid);
  char *out = calloc(2, (size_t)bytes), *in = calloc(4, (size_t)bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begun = MPI_Wtime();
  for (int step = 0; step < steps; ++step) {
    compute(work);
    if (strcmp(argv[1], "allreduce") == 0)
      MPI_Allreduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else
      exchange(grid, dimensions, out, in, bytes);
  }
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("time %.6f s\n", MPI_Wtime() - begun);
  free(out);
  free(in);
  MPI_Comm_free(&grid);
  MPI_Finalize();
  return 0;
}
