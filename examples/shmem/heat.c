/* oshcc heat.c -o heat && oshrun -n 4 ./heat
   Heat in a square plate by Jacobi's method: rows are spread over PEs, and the borders go to the neighbours by puts
   with a signal, so that nobody meets anybody else. */
#include <math.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { width = 64, rows = 64, steps = 500 };

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  const int begin = rows * me / pes, end = rows * (me + 1) / pes, own = end - begin;
  const size_t height = (size_t)(rows / pes) + 3;
  double* plates[2];
  for (int i = 0; i < 2; ++i) plates[i] = shmem_calloc(height * width, sizeof(double));
  static uint64_t arrived[2]; /* Steps whose border from above, from below, is here. */
  static double heat, all;
  if (own < 1) shmem_global_exit(2);
  const int above_rows = me > 0 ? begin - rows * (me - 1) / pes : 0;
  for (int step = 1; step <= steps; ++step) {
    double* const old = plates[(step + 1) % 2];
    double* const now = plates[step % 2];
    if (me == 0)
      for (int x = 0; x < width; ++x) old[x] = 100; /* The upper edge is hot. */
    if (me > 0) shmem_double_put_signal(old + (size_t)(above_rows + 1) * width, old + width, width, &arrived[1], (uint64_t)step, SHMEM_SIGNAL_SET, me - 1);
    if (me < pes - 1) shmem_double_put_signal(old, old + (size_t)own * width, width, &arrived[0], (uint64_t)step, SHMEM_SIGNAL_SET, me + 1);
    if (me > 0) shmem_signal_wait_until(&arrived[0], SHMEM_CMP_GE, (uint64_t)step);
    if (me < pes - 1) shmem_signal_wait_until(&arrived[1], SHMEM_CMP_GE, (uint64_t)step);
    for (int y = 1; y <= own; ++y)
      for (int x = 1; x < width - 1; ++x) {
        const size_t at = (size_t)y * width + (size_t)x;
        now[at] = 0.25 * (old[at - 1] + old[at + 1] + old[at - width] + old[at + width]);
      }
  }
  for (int y = 1; y <= own; ++y)
    for (int x = 1; x < width - 1; ++x) heat += plates[steps % 2][(size_t)y * width + (size_t)x];
  shmem_sync_all();
  shmem_double_sum_reduce(SHMEM_TEAM_WORLD, &all, &heat, 1);
  if (me == 0) printf("heat %.6f\n", all);
  shmem_finalize();
  return 0;
}
