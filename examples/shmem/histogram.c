/* oshcc histogram.c -o histogram && oshrun -n 4 ./histogram [UPDATES]
   Bale's first kernel: random updates of a table that is spread over all PEs, by atomic operations and by active
   messages; both must come to the same table. */
#include <shmemx.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { buckets = 1000 }; /* Of each PE. */

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static uint64_t next(uint64_t* state) {
  *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
  return *state;
}

static void count(void* payload, size_t length, void* args_r, void* args_p, int source) {
  (void)length, (void)args_p, (void)source;
  ++((long*)args_r)[*(int*)payload];
}

int main(int argc, char** argv) {
  const long updates = argc > 1 ? atol(argv[1]) : 100000;
  if (updates < 1) {
    fprintf(stderr, "usage: histogram [UPDATES OF EACH PE]\n");
    return 2;
  }
  shmem_init();
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  long* const by_atomics = shmem_calloc(buckets, sizeof(long));
  long* const by_messages = shmem_calloc(buckets, sizeof(long));
  int id;
  shmemx_am_set_handler_all(count, by_messages, &id);
  double took[2];
  for (int way = 0; way < 2; ++way) {
    uint64_t state = 88172645463325252u + (uint64_t)me * 7919;
    shmem_barrier_all();
    const double begin = seconds();
    for (long i = 0; i < updates; ++i) {
      const uint64_t random = next(&state);
      const int pe = (int)(random % (uint64_t)pes);
      int bucket = (int)(random / (uint64_t)pes % buckets);
      if (way == 0) {
        shmem_long_atomic_inc(by_atomics + bucket, pe);
      } else {
        shmemx_am_send_nbi(id, &bucket, sizeof bucket, pe);
        if (i % 256 == 0) shmemx_am_poll(NULL);
      }
    }
    if (way == 1) shmemx_am_barrier_all(NULL);
    shmem_barrier_all();
    took[way] = seconds() - begin;
  }
  static long sums[2], all[2];
  for (int i = 0; i < buckets; ++i) sums[0] += by_messages[i];
  sums[1] = memcmp(by_atomics, by_messages, buckets * sizeof(long)) != 0;
  shmem_sync_all();
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, all, sums, 2);
  const int right = all[0] == updates * pes && all[1] == 0;
  if (me == 0) {
    fprintf(stderr, "atomics %.1f, messages %.1f million updates a second\n", 1e-6 * (double)(updates * pes) / took[0],
            1e-6 * (double)(updates * pes) / took[1]);
    printf(right ? "%ld updates, both tables are the same\n" : "%ld updates, WRONG\n", all[0]);
  }
  shmem_finalize();
  return !right;
}
