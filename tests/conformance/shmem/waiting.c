/* Waits for and tests of words, one and several, of every type; locks. */
#include "conform.h"

#include <unistd.h>

#define OF_TYPE(NAME, T)                                                                           \
  static void of_##NAME(void) {                                                                    \
    static T words[4];                                                                             \
    int status[4] = {0, 1, 0, 0};                                                                  \
    T values[4] = {1, 9, 3, 4};                                                                    \
    size_t indices[4], found;                                                                      \
    memset(words, 0, sizeof words);                                                                \
    shmem_barrier_all();                                                                           \
    EXPECT(!shmem_##NAME##_test(words, SHMEM_CMP_NE, 0) || words[0] == 1);                         \
    shmem_##NAME##_p(words, 1, NEXT);                                                              \
    shmem_##NAME##_wait_until(words, SHMEM_CMP_EQ, 1);                                             \
    EXPECT(shmem_##NAME##_test(words, SHMEM_CMP_LE, 1) && !shmem_##NAME##_test(words, SHMEM_CMP_GT, 1)); \
    shmem_##NAME##_p(words + 2, 3, NEXT);                                                          \
    found = shmem_##NAME##_wait_until_any(words + 1, 3, status + 1, SHMEM_CMP_GE, 3);              \
    EXPECT(found == 1);                                                                            \
    EXPECT(shmem_##NAME##_wait_until_some(words, 4, indices, status, SHMEM_CMP_NE, 0) == 2);       \
    EXPECT(indices[0] == 0 && indices[1] == 2);                                                    \
    EXPECT(shmem_##NAME##_test_any(words, 4, status, SHMEM_CMP_EQ, 3) == 2);                       \
    EXPECT(shmem_##NAME##_test_any(words, 4, status, SHMEM_CMP_EQ, 77) == SIZE_MAX);               \
    EXPECT(shmem_##NAME##_test_some(words, 4, indices, status, SHMEM_CMP_EQ, 77) == 0);            \
    EXPECT(!shmem_##NAME##_test_all(words, 4, status, SHMEM_CMP_EQ, 77));                          \
    shmem_barrier_all();                                                                           \
    shmem_##NAME##_p(words + 3, 4, NEXT);                                                          \
    shmem_##NAME##_wait_until_all(words, 4, status, SHMEM_CMP_GT, 0);                              \
    shmem_##NAME##_wait_until_all_vector(words, 4, status, SHMEM_CMP_EQ, values);                  \
    found = shmem_##NAME##_wait_until_any_vector(words, 4, status, SHMEM_CMP_EQ, values);          \
    EXPECT(found < 4 && found != 1);                                                               \
    EXPECT(shmem_##NAME##_wait_until_some_vector(words, 4, indices, status, SHMEM_CMP_EQ, values) == 3); \
    EXPECT(shmem_##NAME##_test_all(words, 4, status, SHMEM_CMP_GT, 0));                            \
    EXPECT(shmem_##NAME##_test_all_vector(words, 4, status, SHMEM_CMP_EQ, values));                \
    found = shmem_##NAME##_test_any_vector(words, 4, status, SHMEM_CMP_EQ, values);                \
    EXPECT(found < 4 && found != 1);                                                               \
    EXPECT(shmem_##NAME##_test_some_vector(words, 4, indices, status, SHMEM_CMP_EQ, values) == 3); \
    EXPECT(!shmem_##NAME##_test_all_vector(words, 4, NULL, SHMEM_CMP_EQ, values));                 \
    /* Of nothing. */                                                                              \
    const int none[4] = {1, 1, 1, 1};                                                              \
    shmem_##NAME##_wait_until_all(words, 4, none, SHMEM_CMP_EQ, 77);                               \
    EXPECT(shmem_##NAME##_wait_until_any(words, 4, none, SHMEM_CMP_EQ, 77) == SIZE_MAX);           \
    EXPECT(shmem_##NAME##_wait_until_some(words, 0, indices, NULL, SHMEM_CMP_EQ, 77) == 0);        \
    shmem_barrier_all();                                                                           \
  }
WORDS(OF_TYPE)

static void of_old(void) {
#define OLD_WAIT(NAME, T)                                      \
  {                                                            \
    static T word;                                             \
    shmem_barrier_all();                                       \
    shmem_##NAME##_p(&word, 5, NEXT);                          \
    shmem_##NAME##_wait(&word, 0);                             \
    shmem_##NAME##_wait_until(&word, SHMEM_CMP_EQ, 5);         \
    EXPECT(shmem_##NAME##_test(&word, SHMEM_CMP_EQ, 5));       \
  }
  OLD_WAIT(short, short)
  OLD_WAIT(int, int)
  OLD_WAIT(long, long)
  OLD_WAIT(longlong, long long)
  static unsigned short half;
  static long word;
  shmem_barrier_all();
  shmem_ushort_p(&half, 5, NEXT);
  shmem_ushort_wait_until(&half, SHMEM_CMP_EQ, 5);
  EXPECT(shmem_ushort_test(&half, SHMEM_CMP_NE, 0));
  shmem_long_p(&word, 5, NEXT);
  (shmem_wait)(&word, 0);
  (shmem_wait_until)(&word, _SHMEM_CMP_EQ, 5);
  shmem_barrier_all();
}

/* Counts that only a lock protects. */
static void of_locks(void) {
  static long lock_of_program;
  static int counts[2];
  long* const lock_of_heap = shmem_calloc(1, sizeof(long));
  long* const locks[2] = {&lock_of_program, lock_of_heap};
  enum { rounds = 20 };
  for (int which = 0; which < 2; ++which)
    for (int round = 0; round < rounds; ++round) {
      if (round % 2 == 0)
        shmem_set_lock(locks[which]);
      else
        while (shmem_test_lock(locks[which]) != 0) {
        }
      shmem_int_p(counts + which, shmem_int_g(counts + which, 0) + 1, 0);
      shmem_clear_lock(locks[which]);
    }
  shmem_barrier_all();
  for (int which = 0; which < 2; ++which) EXPECT(shmem_int_g(counts + which, 0) == rounds * pes);
  shmem_barrier_all();
  shmem_free(lock_of_heap);
}

/* A word that changes again at once: what a wait returns is what it has seen. */
static void of_changing_words(void) {
  uint64_t* const words = shmem_calloc(3, sizeof *words);
  static int enough;
  const int status[3] = {1, 0, 1};
  if (me == 0 && pes > 1)
    while (!shmem_int_test(&enough, SHMEM_CMP_EQ, 1))
      for (int i = 0; i <= 200; ++i) shmem_uint64_p(words + 1, 1 + i % 2, NEXT);
  if (me == 1)
    for (int round = 0; round < 300; ++round) {
      size_t indices[3];
      EXPECT(shmem_signal_wait_until(words + 1, SHMEM_CMP_EQ, 1) == 1);
      EXPECT(shmem_uint64_wait_until_any(words, 3, status, SHMEM_CMP_EQ, 1) == 1);
      EXPECT(shmem_uint64_wait_until_some(words, 3, indices, status, SHMEM_CMP_EQ, 1) == 1 && indices[0] == 1);
    }
  if (me == 1) shmem_int_p(&enough, 1, 0);
  shmem_barrier_all();
  shmem_free(words);
}

/* A PE that holds the lock tests it while another waits: it is set, and the other gets it. */
static void of_lock_of_ones_own(void) {
  static long lock;
  static int comes;
  if (me == 0) shmem_set_lock(&lock);
  shmem_barrier_all();
  if (me == 1) {
    shmem_int_p(&comes, 1, 0);
    shmem_set_lock(&lock);
  } else if (me == 0) {
    if (pes > 1) shmem_int_wait_until(&comes, SHMEM_CMP_EQ, 1);
    usleep(20000); /* It waits now, most likely. */
    EXPECT(shmem_test_lock(&lock) == 1);
  }
  if (me < 2) shmem_clear_lock(&lock);
  shmem_barrier_all();
}

/* Of several words that hold, each is found some time. */
static void of_fairness(void) {
  static int flags[4] = {1, 1, 0, 1};
  int found[4] = {0};
  for (int left = 3, tries = 0; left > 0 && tries < 1000; ++tries) {
    const size_t at = tries % 2 == 0 ? shmem_int_test_any(flags, 4, NULL, SHMEM_CMP_EQ, 1)
                                     : shmem_int_wait_until_any(flags, 4, NULL, SHMEM_CMP_EQ, 1);
    EXPECT(at < 4 && at != 2);
    if (at < 4) left -= found[at]++ == 0;
  }
  EXPECT(found[0] != 0 && found[1] != 0 && found[3] != 0);
}

/* Loops that wait by looking at others' memory, in whatever way: PEs take turns, also where there are more than cores. */
static void of_loops(void) {
  static long turn;
  enum { ways = 6 };
  turn = 0;
  shmem_barrier_all();
  for (long way = 0; way < ways; ++way) {
    const long mine = way * pes + me;
    long seen = -1;
    while (seen != mine) switch (way) {
        case 0:
          seen = shmem_long_atomic_compare_swap(&turn, mine, mine, 0);
          break;
        case 1:
          shmem_long_atomic_compare_swap_nbi(&seen, &turn, mine, mine, 0);
          shmem_quiet();
          break;
        case 2:
          seen = shmem_long_atomic_fetch_add(&turn, 0, 0);
          break;
        case 3:
          shmem_long_get_nbi(&seen, &turn, 1, 0);
          shmem_quiet();
          break;
        case 4:
          seen = shmem_long_atomic_fetch(&turn, 0);
          break;
        default:
          seen = shmem_long_g(&turn, 0);
      }
    shmem_long_atomic_inc(&turn, 0);
  }
  shmem_barrier_all();
  EXPECT(shmem_long_g(&turn, 0) == (long)ways * pes);
  shmem_barrier_all();
}

int main(void) {
  begin();
#define CALL(NAME, T) of_##NAME();
  WORDS(CALL)
  of_old();
  of_locks();
  of_lock_of_ones_own();
  of_changing_words();
  of_fairness();
  of_loops();
  return end();
}
