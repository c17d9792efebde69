/* An OpenSHMEM program with one known fault, which also measures what weftrun --breakdown should find: shmem_faults MODE.
   The lines that PE 0 prints are those of faults.c. */
#include <shmem.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { iterations = 12, pes_max = 64 };

static double enter[iterations], leave[iterations], computed; /* Symmetric, as all globals. */
static double all_enter[pes_max][iterations], all_leave[pes_max][iterations], all_computed[pes_max], all_ran[pes_max];
static double ran;
static uint64_t flag;
static long turn, guard;
static volatile double sink;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void work(double seconds) {
  const double start = now();
  double end = start;
  while (end < start + seconds) {
    for (int i = 0; i < 200; ++i) sink = sink * 0.5 + 1;
    end = now();
  }
  computed += end - start;
}

/* By another call than the barrier that is looked at. */
static void meet(void) {
  shmem_quiet();
  shmem_sync_all();
}

static int is(const char* mode, const char* name) { return strcmp(mode, name) == 0; }

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "signal";
  shmem_init();
  const int me = shmem_my_pe(), size = shmem_n_pes();
  const double step = 0.005;
  meet();
  const double began = now();
  for (int i = 0; i < iterations; ++i) {
    if (is(mode, "signal")) {
      if (me == 0) {
        work(step);
        enter[i] = now();
        shmem_uint64_p(&flag, (uint64_t)i + 1, 1);
        leave[i] = now();
        shmem_long_wait_until(&turn, SHMEM_CMP_EQ, i + 1);
      } else if (me == 1) {
        enter[i] = now();
        shmem_signal_wait_until(&flag, SHMEM_CMP_EQ, (uint64_t)i + 1);
        leave[i] = now();
        shmem_long_atomic_set(&turn, i + 1, 0);
      }
    } else if (is(mode, "lock")) { /* PE 0 has the lock when PE 1 wants it. */
      if (me == 0) {
        shmem_set_lock(&guard);
        shmem_long_atomic_set(&turn, i + 1, 1);
        work(step);
        enter[i] = now();
        shmem_clear_lock(&guard);
        leave[i] = now();
        shmem_long_wait_until(&turn, SHMEM_CMP_EQ, i + 1);
      } else if (me == 1) {
        shmem_long_wait_until(&turn, SHMEM_CMP_EQ, i + 1);
        enter[i] = now();
        shmem_set_lock(&guard);
        leave[i] = now();
        shmem_clear_lock(&guard);
        shmem_long_atomic_set(&turn, i + 1, 0);
      }
    } else if (is(mode, "barrier")) {
      work(me == size - 1 ? 2.4545 * step : step);
      enter[i] = now();
      shmem_barrier_all();
      leave[i] = now();
    }
  }
  ran = now() - began;
  meet();
  shmem_putmem(all_enter[me], enter, sizeof enter, 0);
  shmem_putmem(all_leave[me], leave, sizeof leave, 0);
  shmem_double_p(&all_computed[me], computed, 0);
  shmem_double_p(&all_ran[me], ran, 0);
  meet();
  if (me == 0) {
    double waited = 0, total = 0, by_cause[pes_max] = {0};
    for (int i = 0; i < iterations; ++i) {
      int last = 0;
      for (int r = 0; r < size; ++r)
        if (all_enter[r][i] > all_enter[last][i]) last = r;
      for (int r = 0; r < size; ++r) {
        if (!is(mode, "barrier") && r != 1) continue;
        const int who = is(mode, "barrier") ? last : 0;
        double late = all_enter[who][i] - all_enter[r][i];
        if (late > all_leave[r][i] - all_enter[r][i]) late = all_leave[r][i] - all_enter[r][i];
        if (late > 0) {
          waited += late;
          by_cause[who] += late;
        }
      }
    }
    printf("expect wait %.9f\n", waited);
    for (int r = 0; r < size; ++r) {
      printf("expect computing %d %.9f\n", r, all_computed[r]);
      printf("expect asleep %d 0\n", r);
      printf("expect caused %d %.9f\n", r, by_cause[r]);
      total += all_ran[r];
    }
    printf("total %.9f\n", total);
  }
  shmem_finalize();
  return 0;
}
