/* oshcc index_gather.c -o index_gather && oshrun -n 4 ./index_gather
   Bale's second kernel: reads of random places of a table that is spread over all PEs. */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { elements = 1000, reads = 50000 };

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  long* const table = shmem_malloc(elements * sizeof(long));
  long* const got = malloc(reads * sizeof(long));
  for (int i = 0; i < elements; ++i) table[i] = -((long)i * pes + me);
  shmem_barrier_all();
  uint64_t state = 88172645463325252u + (uint64_t)me;
  static long wrong, all;
  for (int pass = 0; pass < 2; ++pass) {
    uint64_t s = state;
    for (int i = 0; i < reads; ++i) {
      s ^= s << 13, s ^= s >> 7, s ^= s << 17;
      const long index = (long)(s % (uint64_t)(elements * pes));
      if (pass == 0)
        shmem_long_get_nbi(got + i, table + index / pes, 1, (int)(index % pes));
      else
        wrong += got[i] != -index;
    }
    shmem_quiet();
  }
  shmem_sync_all();
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all, &wrong, 1);
  if (me == 0) printf(all == 0 ? "all reads are right\n" : "%ld reads are wrong\n", all);
  free(got);
  shmem_finalize();
  return all != 0;
}
