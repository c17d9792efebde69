/* oshcc integer_sort.c -o integer_sort && oshrun -n 4 ./integer_sort
   Keys are spread over PEs by their value: every PE reserves room at the owner by an atomic operation and puts them
   there. */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { keys_of_each = 20000, key_max = 1 << 20 };

static int by_value(const void* a, const void* b) {
  const int x = *(const int*)a, y = *(const int*)b;
  return (x > y) - (x < y);
}

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  const int room = keys_of_each * 2 + 4000;
  int* const sorted = shmem_malloc((size_t)room * sizeof(int));
  static long arrived;
  int* const mine = malloc(keys_of_each * sizeof(int));
  int* const grouped = malloc(keys_of_each * sizeof(int));
  long* const begin = calloc((size_t)pes + 1, sizeof(long));
  uint64_t s = 88172645463325252u + (uint64_t)me;
  static long sums[2], all[2];
  for (int i = 0; i < keys_of_each; ++i) {
    s ^= s << 13, s ^= s >> 7, s ^= s << 17;
    mine[i] = (int)(s % key_max);
    sums[0] += mine[i];
  }
  const int width = (key_max + pes - 1) / pes;
  for (int i = 0; i < keys_of_each; ++i) ++begin[mine[i] / width + 1];
  for (int pe = 0; pe < pes; ++pe) begin[pe + 1] += begin[pe];
  long* const at = malloc(((size_t)pes + 1) * sizeof(long));
  memcpy(at, begin, ((size_t)pes + 1) * sizeof(long));
  for (int i = 0; i < keys_of_each; ++i) grouped[at[mine[i] / width]++] = mine[i];
  shmem_barrier_all();
  for (int step = 0; step < pes; ++step) {
    const int pe = (me + step) % pes;
    const long n = begin[pe + 1] - begin[pe];
    const long place = shmem_long_atomic_fetch_add(&arrived, n, pe);
    if (place + n > room) shmem_global_exit(3);
    shmem_int_put(sorted + place, grouped + begin[pe], (size_t)n, pe);
  }
  shmem_barrier_all();
  qsort(sorted, (size_t)arrived, sizeof(int), by_value);
  int right = arrived == 0 || (sorted[0] / width == me && sorted[arrived - 1] / width == me);
  for (long i = 0; i < arrived; ++i) sums[1] += sorted[i];
  shmem_sync_all();
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, all, sums, 2);
  static int lower, right_here, right_everywhere;
  right_here = right && all[0] == all[1];
  lower = arrived;
  shmem_sync_all();
  shmem_int_min_reduce(SHMEM_TEAM_WORLD, &right_everywhere, &right_here, 1);
  static int total;
  shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &total, &lower, 1);
  if (me == 0)
    printf(right_everywhere && total == keys_of_each * pes ? "%d keys are sorted\n" : "%d keys are NOT sorted\n", total);
  shmem_finalize();
  return !right_everywhere;
}
