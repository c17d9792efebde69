/* Collectives over teams and active sets, of every type. */
#include "conform.h"

enum { count = 5 };
static long sync_words[SHMEM_SYNC_SIZE];

#define OF_TYPE(NAME, T)                                                                    \
  static void of_##NAME(shmem_team_t team, int own, int size, T* to, T* from) {             \
    for (int i = 0; i < count * size * 2; ++i) from[i] = (T)(own + i), to[i] = 0;           \
    shmem_team_sync(team);                                                                  \
    EXPECT(shmem_##NAME##_alltoall(team, to, from, 2) == 0);                                \
    for (int i = 0; i < size * 2; ++i) EXPECT(to[i] == (T)(i / 2 + own * 2 + i % 2));       \
    EXPECT(shmem_##NAME##_alltoalls(team, to, from, 2, 1, 1) == 0);                         \
    for (int i = 0; i < size; ++i) EXPECT(to[i * 2] == (T)(i + own));                       \
    EXPECT(shmem_##NAME##_fcollect(team, to, from, count) == 0);                            \
    for (int i = 0; i < size * count; ++i) EXPECT(to[i] == (T)(i / count + i % count));     \
    EXPECT(shmem_##NAME##_collect(team, to, from, own % 2 + 1) == 0);                       \
    for (int pe = 0, at = 0; pe < size; ++pe)                                               \
      for (int i = 0; i < pe % 2 + 1; ++i) EXPECT(to[at++] == (T)(pe + i));                 \
    for (int root = 0; root < size; root += size > 1 ? size - 1 : 1) {                      \
      for (int i = 0; i < count; ++i) to[i] = 0;                                            \
      EXPECT(shmem_##NAME##_broadcast(team, to, from, count, root) == 0);                   \
      for (int i = 0; i < count; ++i) EXPECT(to[i] == (T)(root + i));                       \
    }                                                                                       \
    shmem_team_sync(team);                                                                  \
    for (int i = 0; i < count; ++i) from[i] = (T)(own % 3 + i);                             \
    T most = 0, least = 100, sum = 0, before = 0, product = 1;                              \
    for (int pe = 0; pe < size; ++pe) {                                                     \
      const T one = (T)(pe % 3);                                                            \
      if (one > most) most = one;                                                           \
      if (one < least) least = one;                                                         \
      if (pe < own) before = (T)(before + one);                                             \
      sum = (T)(sum + one);                                                                 \
      product = (T)(product * one);                                                         \
    }                                                                                       \
    EXPECT(shmem_##NAME##_max_reduce(team, to, from, 1) == 0 && to[0] == most);             \
    EXPECT(shmem_##NAME##_min_reduce(team, to, from, 1) == 0 && to[0] == least);            \
    EXPECT(shmem_##NAME##_prod_reduce(team, to, from, 1) == 0 && to[0] == product);         \
    EXPECT(shmem_##NAME##_sum_reduce(team, to, from, count) == 0);                          \
    for (int i = 0; i < count; ++i) EXPECT(to[i] == (T)(sum + i * size));                   \
    EXPECT(shmem_##NAME##_sum_inscan(team, to, from, 1) == 0 && to[0] == (T)(before + own % 3)); \
    EXPECT(shmem_##NAME##_sum_exscan(team, to, from, 1) == 0 && to[0] == before);           \
    shmem_team_sync(team);                                                                  \
  }
NUMBERS(OF_TYPE)

#define BITS_OF_TYPE(NAME, T)                                                               \
  static void bits_##NAME(void) {                                                           \
    static T to[2], from[2];                                                                \
    from[0] = (T)(1u << me % 7), from[1] = (T)~from[0];                                     \
    T all = 0, odd = 0;                                                                     \
    for (int pe = 0; pe < pes; ++pe) all |= (T)(1u << pe % 7), odd ^= (T)(1u << pe % 7);    \
    shmem_sync_all();                                                                       \
    shmem_##NAME##_or_reduce(SHMEM_TEAM_WORLD, to, from, 1);                                \
    EXPECT(to[0] == all);                                                                   \
    shmem_##NAME##_xor_reduce(SHMEM_TEAM_WORLD, to, from, 1);                               \
    EXPECT(to[0] == odd);                                                                   \
    shmem_##NAME##_and_reduce(SHMEM_TEAM_WORLD, to, from + 1, 1);                           \
    all = (T)~all;                                                                          \
    EXPECT(to[0] == all);                                                               \
    shmem_sync_all();                                                                       \
  }
BIT_NUMBERS(BITS_OF_TYPE)

/* The names of earlier versions, over all PEs and over those with even numbers. */
#define OLD_TYPE(NAME, T)                                                                   \
  static void old_##NAME(int log_stride, int size) {                                        \
    static T to[count], from[count], work[count + SHMEM_REDUCE_MIN_WRKDATA_SIZE];           \
    T sum = 0, most = 0, product = 1;                                                       \
    for (int i = 0; i < size; ++i) {                                                        \
      const int pe = i << log_stride;                                                       \
      sum = (T)(sum + pe), product = (T)(product * (pe % 2 + 1));                           \
      if ((T)pe > most) most = (T)pe;                                                       \
    }                                                                                       \
    for (int i = 0; i < count; ++i) from[i] = (T)me;                                        \
    shmem_sync(0, log_stride, size, sync_words);                                            \
    shmem_##NAME##_sum_to_all(to, from, count, 0, log_stride, size, work, sync_words);      \
    EXPECT(to[count - 1] == sum);                                                           \
    shmem_##NAME##_max_to_all(to, from, count, 0, log_stride, size, work, sync_words);      \
    EXPECT(to[0] == most);                                                                  \
    shmem_##NAME##_min_to_all(to, from, count, 0, log_stride, size, work, sync_words);      \
    EXPECT(to[0] == 0);                                                                     \
    for (int i = 0; i < count; ++i) from[i] = (T)(me % 2 + 1);                              \
    shmem_barrier(0, log_stride, size, sync_words);                                         \
    shmem_##NAME##_prod_to_all(to, from, count, 0, log_stride, size, work, sync_words);     \
    EXPECT(to[0] == product);                                                               \
    shmem_barrier(0, log_stride, size, sync_words);                                         \
  }
#define OLD_NUMBERS(X) \
  X(short, short) X(int, int) X(long, long) X(longlong, long long) X(float, float) X(double, double) X(longdouble, long double)
OLD_NUMBERS(OLD_TYPE)
#define OLD_BITS_TYPE(NAME, T)                                                              \
  static void old_bits_##NAME(void) {                                                       \
    static T to, from, work[4];                                                             \
    from = (T)(1 << me % 7);                                                                \
    T all = 0, odd = 0;                                                                     \
    for (int pe = 0; pe < pes; ++pe) all |= (T)(1 << pe % 7), odd ^= (T)(1 << pe % 7);      \
    shmem_barrier_all();                                                                    \
    shmem_##NAME##_or_to_all(&to, &from, 1, 0, 0, pes, work, sync_words);                   \
    EXPECT(to == all);                                                                      \
    shmem_##NAME##_xor_to_all(&to, &from, 1, 0, 0, pes, work, sync_words);                  \
    EXPECT(to == odd);                                                                      \
    shmem_##NAME##_and_to_all(&to, &from, 1, 0, 0, pes, work, sync_words);                  \
    EXPECT(to == (pes == 1 ? 1 : 0));                                                       \
    shmem_barrier_all();                                                                    \
  }
#define OLD_BIT_NUMBERS(X) X(short, short) X(int, int) X(long, long) X(longlong, long long)
OLD_BIT_NUMBERS(OLD_BITS_TYPE)

#define OLD_SIZE(BITS)                                                                      \
  static void old_size_##BITS(int32_t* to, int32_t* from) {                                 \
    enum { words = BITS / 32 };                                                             \
    const int n = pes * words;                                                              \
    for (int i = 0; i < n * 2; ++i) from[i] = me * 1000 + i, to[i] = -1;                    \
    shmem_barrier_all();                                                                    \
    shmem_alltoall##BITS(to, from, 1, 0, 0, pes, sync_words);                               \
    for (int i = 0; i < n; ++i) EXPECT(to[i] == i / words * 1000 + me * words + i % words); \
    shmem_alltoalls##BITS(to, from, 2, 1, 1, 0, 0, pes, sync_words);                        \
    for (int pe = 0; pe < pes; ++pe) EXPECT(to[pe * 2 * words] == pe * 1000 + me * words);  \
    shmem_fcollect##BITS(to, from, 1, 0, 0, pes, sync_words);                               \
    for (int i = 0; i < n; ++i) EXPECT(to[i] == i / words * 1000 + i % words);              \
    shmem_collect##BITS(to, from, me == 0 ? 2 : 1, 0, 0, pes, sync_words);                  \
    EXPECT(to[words] == words);                                                             \
    EXPECT(pes == 1 || to[2 * words] == 1000);                                              \
    for (int i = 0; i < n; ++i) to[i] = -1;                                                 \
    shmem_broadcast##BITS(to, from, 1, pes - 1, 0, 0, pes, sync_words);                     \
    EXPECT(to[0] == (me == pes - 1 ? -1 : (pes - 1) * 1000)); /* The root's is left. */     \
    shmem_barrier_all();                                                                    \
  }
OLD_SIZE(32)
OLD_SIZE(64)

static void of_memory(char* to, char* from) {
  for (int i = 0; i < pes * 4; ++i) from[i] = (char)(me + i);
  shmem_barrier_all();
  shmem_alltoallmem(SHMEM_TEAM_WORLD, to, from, 2);
  for (int i = 0; i < pes * 2; ++i) EXPECT(to[i] == (char)(i / 2 + me * 2 + i % 2));
  shmem_alltoallsmem(SHMEM_TEAM_WORLD, to, from, 2, 1, 1);
  for (int i = 0; i < pes; ++i) EXPECT(to[i * 2] == (char)(i + me));
  shmem_fcollectmem(SHMEM_TEAM_WORLD, to, from, 3);
  for (int i = 0; i < pes * 3; ++i) EXPECT(to[i] == (char)(i / 3 + i % 3));
  shmem_collectmem(SHMEM_TEAM_WORLD, to, from, me == 0 ? 3 : 1);
  EXPECT(to[2] == 2 && (pes == 1 || to[3] == 1));
  shmem_broadcastmem(SHMEM_TEAM_WORLD, to, from, 3, pes - 1);
  EXPECT(to[2] == (char)(pes + 1));
  shmem_barrier_all();
}

static void of_complex(void) {
#define OF_COMPLEX(NAME, T)                                                                 \
  {                                                                                         \
    static T to, from, work[4];                                                             \
    from = 1 + me * (T)1.0i;                                                                \
    shmem_barrier_all();                                                                    \
    shmem_##NAME##_sum_reduce(SHMEM_TEAM_WORLD, &to, &from, 1);                             \
    const T sum = pes + (T)(pes * (pes - 1) / 2) * (T)1.0i;                                 \
    EXPECT(to == sum);                                                                      \
    shmem_##NAME##_sum_to_all(&to, &from, 1, 0, 0, pes, work, sync_words);                  \
    EXPECT(to == sum);                                                                      \
    shmem_##NAME##_sum_inscan(SHMEM_TEAM_WORLD, &to, &from, 1);                             \
    EXPECT(to == (me + 1) + (T)(me * (me + 1) / 2) * (T)1.0i);                              \
    shmem_##NAME##_sum_exscan(SHMEM_TEAM_WORLD, &to, &from, 1);                             \
    EXPECT(to == me + (T)(me * (me - 1) / 2) * (T)1.0i);                                    \
    from = 1.0i;                                                                            \
    shmem_barrier_all();                                                                    \
    const T power = (T[]){1, (T)1.0i, -1, -(T)1.0i}[pes % 4];                               \
    shmem_##NAME##_prod_reduce(SHMEM_TEAM_WORLD, &to, &from, 1);                            \
    EXPECT(to == power);                                                                    \
    shmem_##NAME##_prod_to_all(&to, &from, 1, 0, 0, pes, work, sync_words);                 \
    EXPECT(to == power);                                                                    \
    shmem_barrier_all();                                                                    \
  }
  OF_COMPLEX(complexd, double _Complex)
  OF_COMPLEX(complexf, float _Complex)
}

/* Sets that overlap: pairs of neighbours, of which inner PEs are in two, and all but the last PE; made while others of them
   are in use. Nobody waits in between. */
static void sets_that_overlap(void) {
  enum { rounds = 8, sets_max = 16 };
  static long syncs[sets_max + 1][2][SHMEM_REDUCE_SYNC_SIZE];
  static long work[sets_max + 1][2][SHMEM_REDUCE_MIN_WRKDATA_SIZE];
  static long values[sets_max + 1], sums[sets_max + 1][2];
  const int pairs = pes - 1 < sets_max ? pes - 1 : sets_max;
  for (int i = 0; i <= sets_max; ++i)
    for (int turn = 0; turn < 2; ++turn)
      for (int k = 0; k < SHMEM_REDUCE_SYNC_SIZE; ++k) syncs[i][turn][k] = SHMEM_SYNC_VALUE;
  shmem_barrier_all();
  for (long round = 1; round <= rounds; ++round) {
    const int turn = (int)(round & 1);
    for (int first = 0; first < pairs; ++first) {
      if (me != first && me != first + 1) continue;
      values[first] = round * (me + 1);
      shmem_long_sum_to_all(&sums[first][turn], &values[first], 1, first, 0, 2, work[first][turn], syncs[first][turn]);
      EXPECT(sums[first][turn] == round * (2 * first + 3));
    }
    if (me == pes - 1) continue;
    values[sets_max] = round;
    shmem_long_sum_to_all(&sums[sets_max][turn], &values[sets_max], 1, 0, 0, pes - 1, work[sets_max][turn],
                          syncs[sets_max][turn]);
    EXPECT(sums[sets_max][turn] == round * (pes - 1));
  }
  shmem_barrier_all();
}

int main(void) {
  begin();
  sets_that_overlap();
  char* const to = shmem_malloc((size_t)(count * pes * 2) * 16);
  char* const from = shmem_malloc((size_t)(count * pes * 2) * 16);
#define CALL(NAME, T) of_##NAME(SHMEM_TEAM_WORLD, me, pes, (T*)to, (T*)from);
  NUMBERS(CALL)
  /* The odd ones, from the last one on. */
  shmem_team_t odd;
  const int size = pes / 2;
  if (size > 0) {
    EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, 2 * size - 1, -2, size, NULL, 0, &odd) == 0);
    if (odd != SHMEM_TEAM_INVALID) {
      const int own = shmem_team_my_pe(odd);
      EXPECT(me % 2 == 1 && own == size - 1 - me / 2);
      of_long(odd, own, size, (long*)to, (long*)from);
      of_double(odd, own, size, (double*)to, (double*)from);
      shmem_team_destroy(odd);
    }
    shmem_barrier_all();
  }
#define CALL_BITS(NAME, T) bits_##NAME();
  BIT_NUMBERS(CALL_BITS)
#define CALL_OLD(NAME, T) old_##NAME(0, pes);
  OLD_NUMBERS(CALL_OLD)
  if (me % 2 == 0) {
#define CALL_EVEN(NAME, T) old_##NAME(1, (pes + 1) / 2);
    OLD_NUMBERS(CALL_EVEN)
  }
  shmem_barrier_all();
#define CALL_OLD_BITS(NAME, T) old_bits_##NAME();
  OLD_BIT_NUMBERS(CALL_OLD_BITS)
  old_size_32((int32_t*)to, (int32_t*)from);
  old_size_64((int32_t*)to, (int32_t*)from);
  of_memory(to, from);
  of_complex();
  return end();
}
