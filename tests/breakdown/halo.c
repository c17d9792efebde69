/* A row of cells shared by ranks: neighbours exchange borders, all sum up. Its steps are a region, and what comes before
   and after them are phases of MPI_Pcontrol. halo [STEPS [WORK [plain]]]:
   plain leaves out collectives that have a root. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <weft/region.h>

static volatile double sink;

static void compute(int count) {
  for (int i = 0; i < count; ++i) sink = sink * 0.5 + 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int steps = argc > 1 ? atoi(argv[1]) : 20, work = argc > 2 ? atoi(argv[2]) : 20000;
  const int has_roots = argc <= 3;
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Pcontrol(1); /* As profilers have it: nothing is to be read behind it. */
  MPI_Pcontrol(2);
  double own = rank, sum = 0, left = 0, right = 0;
  if (has_roots) MPI_Bcast(&sum, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Pcontrol(-2);
  for (int step = 0; step < steps; ++step) {
    weft_region_begin("step");
    MPI_Request all[4];
    int count = 0;
    if (rank > 0) {
      MPI_Irecv(&left, 1, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, &all[count++]);
      MPI_Isend(&own, 1, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, &all[count++]);
    }
    if (rank + 1 < size) {
      MPI_Irecv(&right, 1, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD, &all[count++]);
      MPI_Isend(&own, 1, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD, &all[count++]);
    }
    weft_region_begin("inner cells");
    compute(work);
    weft_region_end();
    MPI_Waitall(count, all, MPI_STATUSES_IGNORE);
    compute(work / 10);
    own += 0.25 * (left + right - own);
    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    weft_region_end();
  }
  MPI_Pcontrol(3);
  if (has_roots) MPI_Reduce(&own, &sum, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Pcontrol(-3);
  weft_region_end(); /* Of none: nothing happens. */
  if (rank == 0) printf("%d ranks, %d steps: %.6f\n", size, steps, sum);
  MPI_Finalize();
  return 0;
}
