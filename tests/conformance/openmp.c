/* MPI and OpenMP together: regions between calls of MPI, whose threads work on the rank's own globals, and
   calls within a region by its first thread, while the others wait. */
#include <omp.h>

#include "conform.h"

enum { n = 10000 };
static double x[n];
static int regions; /* Of this rank. */

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  learn_place();
  EXPECT(level >= MPI_THREAD_FUNNELED, "level %d", level);
  for (int step = 0; step < 20; ++step) {
    double mine = 0, all = 0, largest = 0;
    int threads = 0;
#pragma omp parallel reduction(+ : mine) num_threads(step % 3 + 1)
    {
#pragma omp single
      threads = omp_get_num_threads();
#pragma omp for
      for (int i = 0; i < n; ++i) {
        x[i] = rank + step;
        mine += x[i];
      }
    }
    ++regions;
    EXPECT(threads >= 1 && threads <= 3, "%d threads", threads);
    EXPECT(mine == (double)n * (rank + step), "%g", mine);
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(all == (double)n * (size * (size - 1) / 2 + size * step), "%g", all);
#pragma omp parallel for reduction(max : largest)
    for (int i = 0; i < n; ++i)
      if (x[i] > largest) largest = x[i];
    EXPECT(largest == rank + step, "%g", largest);
    const double out = largest;
    MPI_Sendrecv(&out, 1, MPI_DOUBLE, (rank + 1) % size, 0, &largest, 1, MPI_DOUBLE, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    EXPECT(largest == (rank + size - 1) % size + step, "%g", largest);
  }
  EXPECT_INT(regions, 20);
  for (int step = 0; step < 20; ++step) {
    int sum = 0;
#pragma omp parallel num_threads(3) reduction(+ : sum)
    {
#pragma omp master
      {
        int everybody = 0;
        MPI_Allreduce(&rank, &everybody, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        EXPECT_INT(everybody, size * (size - 1) / 2);
        EXPECT(omp_get_num_threads() == 3 && omp_get_thread_num() == 0, "thread %d of %d", omp_get_thread_num(),
               omp_get_num_threads());
      }
#pragma omp barrier
      sum += omp_get_thread_num();
    }
    EXPECT_INT(sum, 3);
  }
  return end();
}
