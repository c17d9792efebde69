/* Each wait state by each call of OpenSHMEM that can have it (planted_waits.h), of two PEs: shmem_waits FIRST COUNT. */
#include <shmem.h>

#include "planted_waits.h"

static int me;
static long flags[16]; /* Symmetric, as all globals. A word for each call. */
static uint64_t signal_word;
static long turn, back, guard;
static long in[8], out[8];

/* PE 0 writes the word late, and PE 1 waits for that. */
#define WRITTEN(number, ...)                              \
  long* const word = flags + number;                      \
  if (me == 0) {                                          \
    work();                                               \
    shmem_long_p(word, round_now, 1);                     \
    shmem_quiet();                                        \
  } else {                                                \
    long wanted[1] = {round_now};                         \
    size_t at[1];                                         \
    (void)wanted, (void)at;                               \
    TIMED(__VA_ARGS__);                                   \
  }
MODE(w_until) { WRITTEN(0, shmem_long_wait_until(word, SHMEM_CMP_GE, round_now)) }
MODE(w_until_any) { WRITTEN(1, shmem_long_wait_until_any(word, 1, NULL, SHMEM_CMP_GE, round_now)) }
MODE(w_until_all) { WRITTEN(2, shmem_long_wait_until_all(word, 1, NULL, SHMEM_CMP_GE, round_now)) }
MODE(w_until_some) { WRITTEN(3, shmem_long_wait_until_some(word, 1, at, NULL, SHMEM_CMP_GE, round_now)) }
MODE(w_until_any_vector) { WRITTEN(4, shmem_long_wait_until_any_vector(word, 1, NULL, SHMEM_CMP_GE, wanted)) }
MODE(w_until_all_vector) { WRITTEN(5, shmem_long_wait_until_all_vector(word, 1, NULL, SHMEM_CMP_GE, wanted)) }
MODE(w_until_some_vector) { WRITTEN(6, shmem_long_wait_until_some_vector(word, 1, at, NULL, SHMEM_CMP_GE, wanted)) }
MODE(w_signal) {
  if (me == 0) {
    work();
    shmem_putmem_signal(out, in, sizeof in[0], &signal_word, (uint64_t)round_now, SHMEM_SIGNAL_SET, 1);
    shmem_quiet();
  } else {
    TIMED(shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, (uint64_t)round_now));
  }
}
MODE(w_set_lock) { /* PE 0 has the lock when PE 1 wants it. */
  if (me == 0) {
    shmem_set_lock(&guard);
    shmem_long_atomic_set(&turn, round_now, 1);
    work();
    shmem_clear_lock(&guard);
    shmem_long_wait_until(&back, SHMEM_CMP_GE, round_now);
  } else {
    shmem_long_wait_until(&turn, SHMEM_CMP_GE, round_now);
    TIMED(shmem_set_lock(&guard));
    shmem_clear_lock(&guard);
    shmem_long_atomic_set(&back, round_now, 0);
  }
}
#define MEETS(call)      \
  if (me == 0) work();   \
  TIMED(call)
MODE(w_barrier_all) { MEETS(shmem_barrier_all()); }
MODE(w_sync_all) { MEETS(shmem_sync_all()); }
MODE(w_team_sync) { MEETS(shmem_team_sync(SHMEM_TEAM_WORLD)); }
MODE(w_broadcast) { MEETS(shmem_long_broadcast(SHMEM_TEAM_WORLD, out, in, 1, 0)); }
MODE(w_sum_reduce) { MEETS(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, out, in, 1)); }
MODE(w_alltoall) { MEETS(shmem_long_alltoall(SHMEM_TEAM_WORLD, out, in, 1)); }
MODE(w_fcollect) { MEETS(shmem_long_fcollect(SHMEM_TEAM_WORLD, out, in, 1)); }

static const struct mode modes[] = {
    WAITS(w_until, "late_signal"), WAITS(w_until_any, "late_signal"), WAITS(w_until_all, "late_signal"),
    WAITS(w_until_some, "late_signal"), WAITS(w_until_any_vector, "late_signal"),
    WAITS(w_until_all_vector, "late_signal"), WAITS(w_until_some_vector, "late_signal"),
    WAITS(w_signal, "late_signal"), WAITS(w_set_lock, "wait_for_lock"), WAITS(w_barrier_all, "wait_at_barrier"),
    WAITS(w_sync_all, "wait_at_barrier"), WAITS(w_team_sync, "wait_at_barrier"),
    WAITS(w_broadcast, "late_broadcast"), WAITS(w_sum_reduce, "wait_at_n_to_n"),
    WAITS(w_alltoall, "wait_at_n_to_n"), WAITS(w_fcollect, "wait_at_n_to_n"),
};

static void meet(void) { shmem_barrier_all(); }

int main(int argc, char** argv) {
  shmem_init();
  me = shmem_my_pe();
  run_modes(argc, argv, modes, (int)(sizeof modes / sizeof modes[0]), me, meet);
  shmem_finalize();
  return 0;
}
