/* A loop whose elements cost very different times, between exchanges with the neighbours: ranks with
   little work wait. Three lines of weft/loop.h (marked *) let those that wait take chunks of those that
   work; under another library they are left out.

     weftcc -O2 uneven.c -o uneven && weftrun -n 4 ./uneven */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#if __has_include(<weft/loop.h>)
#include <weft/loop.h> /* * */
#endif

enum { cells = 512, steps = 20 };
static double now[cells + 2], next[cells + 2];
static int rank, size, step;

/* Solves x = cos(x * by) by as many iterations as the cell happens to need. */
static double settle(double x, unsigned long key) {
  long turns = 20 + (long)(key * 2654435761u % 4096u) * (step % size == rank ? 4 : 1) / 4;
  for (; turns > 0; --turns) x = 0.5 * x + 0.25 * (1 - x * x / 2 + x * x * x * x / 24);
  return x;
}

static void work(size_t begin, size_t end, void* unused) { /* * */
  (void)unused;
  for (size_t i = begin; i < end; ++i)
    next[i + 1] = settle((now[i] + now[i + 1] + now[i + 2]) / 3, i + (unsigned long)(rank * 7 + step) * cells);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < cells + 2; ++i) now[i] = (double)(rank * cells + i) / (size * cells);
  const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
  for (step = 0; step < steps; ++step) {
#ifdef WEFT_TASK_H
    weft_parallel_for(0, cells, work, NULL); /* * */
#else
    work(0, cells, NULL);
#endif
    for (int i = 1; i <= cells; ++i) now[i] = next[i];
    MPI_Sendrecv(&now[cells], 1, MPI_DOUBLE, right, 0, &now[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&now[1], 1, MPI_DOUBLE, left, 1, &now[cells + 1], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
  double mine = 0, all = 0;
  for (int i = 1; i <= cells; ++i) mine += now[i];
  MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, %d cells: %.9f\n", size, size * cells, all);
  MPI_Finalize();
}
