/* Corners of the standard: where a value is the smallest, the largest or none; the same for memory of the heap and for
   globals, which between processes are reached in another way. */
#include "conform.h"

#include <shmemx.h>

enum { words_max = 3000 };

typedef struct {
  long words[words_max];
  uint64_t signals[64];
  long lock;
} memory;
static memory global;
static memory* heap;

/* --- Lengths of 0, and one byte more or less than fits ---------------------------------------------------------- */
static void of_nothing(memory* at) {
  long own[4] = {1, 2, 3, 4};
  at->words[0] = 77;
  at->signals[0] = 0;
  shmem_barrier_all();
  shmem_long_put(at->words, own, 0, NEXT);
  shmem_long_put(NULL, NULL, 0, NEXT);
  shmem_long_get(own, at->words, 0, NEXT);
  shmem_long_get(NULL, NULL, 0, NEXT);
  shmem_putmem_nbi(at->words, own, 0, NEXT);
  shmem_getmem_nbi(own, at->words, 0, NEXT);
  shmem_long_iput(at->words, own, 3, 2, 0, NEXT);
  shmem_long_iget(own, at->words, 3, 2, 0, NEXT);
  shmem_long_iput(NULL, NULL, 1, 1, 0, NEXT);
  shmem_long_ibput(at->words, own, 3, 2, 2, 0, NEXT);
  shmem_long_ibget(own, at->words, 3, 2, 2, 0, NEXT);
  shmem_long_put_signal(at->words, own, 0, at->signals, 1, SHMEM_SIGNAL_ADD, NEXT);
  shmem_putmem_signal_nbi(NULL, NULL, 0, at->signals, 1, SHMEM_SIGNAL_ADD, NEXT);
  EXPECT(shmem_signal_wait_until(at->signals, SHMEM_CMP_GE, 2) == 2);
  shmem_quiet();
  shmem_barrier_all();
  EXPECT(at->words[0] == 77 && own[0] == 1 && own[3] == 4);
  at->signals[0] = 0;
  /* Collectives of nothing meet all the same, or not; they change nothing. */
  EXPECT(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, at->words, at->words, 0) == 0);
  EXPECT(shmem_long_broadcast(SHMEM_TEAM_WORLD, at->words, at->words + 8, 0, pes - 1) == 0);
  EXPECT(shmem_long_fcollect(SHMEM_TEAM_WORLD, at->words, at->words + 8, 0) == 0);
  EXPECT(shmem_long_collect(SHMEM_TEAM_WORLD, at->words, at->words + 8, 0) == 0);
  EXPECT(shmem_long_alltoall(SHMEM_TEAM_WORLD, at->words, at->words + 8, 0) == 0);
  EXPECT(shmem_long_alltoalls(SHMEM_TEAM_WORLD, at->words, at->words + 8, 1, 1, 0) == 0);
  EXPECT(at->words[0] == 77);
  /* Waits for nothing are over. */
  int status[1] = {1};
  size_t indices[1];
  shmem_long_wait_until_all(at->words, 0, NULL, SHMEM_CMP_EQ, 5);
  shmem_long_wait_until_all(at->words, 1, status, SHMEM_CMP_EQ, 5);
  EXPECT(shmem_long_wait_until_any(at->words, 0, NULL, SHMEM_CMP_EQ, 5) == SIZE_MAX);
  EXPECT(shmem_long_wait_until_any(at->words, 1, status, SHMEM_CMP_EQ, 5) == SIZE_MAX);
  EXPECT(shmem_long_wait_until_some(at->words, 0, indices, NULL, SHMEM_CMP_EQ, 5) == 0);
  EXPECT(shmem_long_wait_until_some(at->words, 1, indices, status, SHMEM_CMP_EQ, 5) == 0);
  EXPECT(shmem_long_test_all(at->words, 0, NULL, SHMEM_CMP_EQ, 5) != 0);
  EXPECT(shmem_long_test_all(at->words, 1, status, SHMEM_CMP_EQ, 5) != 0);
  EXPECT(shmem_long_test_any(at->words, 0, NULL, SHMEM_CMP_EQ, 5) == SIZE_MAX);
  EXPECT(shmem_long_test_some(at->words, 1, indices, status, SHMEM_CMP_EQ, 5) == 0);
  shmem_barrier_all();
}

/* Of every size up to some, and of odd addresses: no byte beside is touched. */
static void of_sizes(memory* at) {
  unsigned char* const bytes = (unsigned char*)at->words;
  static unsigned char own[sizeof global.words];
  static const size_t sizes[] = {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 255, 1023, 4095, 4097, 8191, 9001, 20001};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s)
    for (size_t shift = 0; shift < 3; ++shift) {
      const size_t size = sizes[s], begin = 16 + shift;
      memset(bytes, 0xee, size + 64);
      for (size_t i = 0; i < size; ++i) own[i + shift] = (unsigned char)(i * 7 + size + (size_t)me);
      shmem_barrier_all();
      if (s % 2 == 0)
        shmem_putmem(bytes + begin, own + shift, size, NEXT);
      else
        shmem_putmem_nbi(bytes + begin, own + shift, size, NEXT);
      shmem_barrier_all();
      int same = bytes[begin - 1] == 0xee && bytes[begin + size] == 0xee;
      for (size_t i = 0; i < size; ++i) same &= bytes[begin + i] == (unsigned char)(i * 7 + size + (size_t)LAST);
      EXPECT(same);
      memset(own, 0xcc, size + 8);
      if (s % 2 == 0)
        shmem_getmem(own + 4, bytes + begin, size, NEXT);
      else
        shmem_getmem_nbi(own + 4, bytes + begin, size, NEXT), shmem_quiet();
      same = own[3] == 0xcc && own[4 + size] == 0xcc;
      for (size_t i = 0; i < size; ++i) same &= own[4 + i] == (unsigned char)(i * 7 + size + (size_t)me);
      EXPECT(same);
      shmem_barrier_all();
    }
}

/* --- Strides ------------------------------------------------------------------------------------------------------ */
static void of_strides(memory* at) {
  long own[64];
  for (int i = 0; i < 64; ++i) own[i] = me * 1000 + i, at->words[i] = -1;
  shmem_barrier_all();
  shmem_long_iput(at->words, own, 1, 1, 10, NEXT);         /* As put. */
  shmem_long_iput(at->words + 20, own + 3, 5, 7, 4, NEXT); /* 20, 25, 30, 35 from 3, 10, 17, 24. */
  shmem_long_iput(at->words + 40, own, -1, 1, 3, NEXT);    /* 40, 39, 38: backwards. */
  shmem_long_iput(at->words + 50, own + 9, 1, -2, 3, NEXT);
  shmem_long_iput(at->words + 60, own + 5, 99999, -99999, 1, NEXT); /* One alone: strides mean nothing. */
  shmem_barrier_all();
  const long base = LAST * 1000;
  for (int i = 0; i < 10; ++i) EXPECT(at->words[i] == base + i);
  for (int i = 0; i < 4; ++i) EXPECT(at->words[20 + 5 * i] == base + 3 + 7 * i);
  for (int i = 0; i < 3; ++i) EXPECT(at->words[40 - i] == base + i && at->words[50 + i] == base + 9 - 2 * i);
  EXPECT(at->words[60] == base + 5 && at->words[21] == -1 && at->words[37] == -1 && at->words[41] == -1);
  shmem_barrier_all();
  for (int i = 0; i < 64; ++i) own[i] = -2, at->words[i] = me * 100 + i;
  shmem_barrier_all();
  const long theirs = NEXT * 100;
  shmem_long_iget(own + 10, at->words + 20, -3, 2, 4, NEXT);
  shmem_long_iget(own + 20, at->words + 5, 1, 0, 4, NEXT); /* One word, four times. */
  for (int i = 0; i < 4; ++i) EXPECT(own[10 - 3 * i] == theirs + 20 + 2 * i && own[20 + i] == theirs + 5);
  EXPECT(own[9] == -2 && own[24] == -2);
  shmem_long_ibget(own + 30, at->words, 5, 3, 2, 3, NEXT);
  for (int i = 0; i < 3; ++i) EXPECT(own[30 + 5 * i] == theirs + 3 * i && own[31 + 5 * i] == theirs + 3 * i + 1);
  shmem_barrier_all();
}

/* --- Atomic operations of each width, from all PEs at once ----------------------------------------------------------- */
enum { rounds = 200 };
#define ARITHMETIC(name, type)                                                                         \
  static void arithmetic_##name(type* word, type* got) {                                               \
    if (me == 0) *word = 0;                                                                            \
    shmem_barrier_all();                                                                               \
    type last = 0;                                                                                     \
    for (int i = 0; i < rounds; ++i) {                                                                 \
      shmem_##name##_atomic_inc(word, 0);                                                              \
      const type now = shmem_##name##_atomic_fetch_add(word, 2, 0);                                    \
      EXPECT(now >= last + 1);                                                                         \
      last = now;                                                                                      \
      (void)shmem_##name##_atomic_fetch_inc(word, 0);                                                  \
      shmem_##name##_atomic_add(word, 3, 0);                                                           \
      type seen = shmem_##name##_atomic_fetch(word, 0), before;                                        \
      while ((before = shmem_##name##_atomic_compare_swap(word, seen, seen + 1, 0)) != seen) seen = before; \
    }                                                                                                  \
    shmem_barrier_all();                                                                               \
    EXPECT(shmem_##name##_g(word, 0) == (type)(8 * rounds * pes));                                     \
    shmem_barrier_all();                                                                               \
    shmem_##name##_atomic_fetch_add_nbi(got, word, 1, 0);                                              \
    shmem_##name##_atomic_fetch_inc_nbi(got + 1, word, 0);                                             \
    shmem_quiet();                                                                                     \
    EXPECT(got[0] >= (type)(8 * rounds * pes) && got[1] > got[0]);                                     \
    shmem_barrier_all();                                                                               \
  }
WORDS(ARITHMETIC)

/* Each PE passes a token on: what is swapped in comes out once. */
#define SWAPS(name, type)                                                                              \
  static void swaps_##name(type* word, type* sum) {                                                    \
    if (me == 0) *word = 0, *sum = 0;                                                                  \
    shmem_barrier_all();                                                                               \
    long own = 0;                                                                                      \
    for (int i = 0; i < rounds; ++i) own += (long)shmem_##name##_atomic_swap(word, (type)1, 0);        \
    static long sums;                                                                                  \
    sums = own;                                                                                        \
    shmem_barrier_all();                                                                               \
    long all = 0;                                                                                      \
    for (int pe = 0; pe < pes; ++pe) all += shmem_long_g(&sums, pe);                                   \
    EXPECT(all == rounds * pes - 1); /* The first 0 came out, the last 1 is in. */                     \
    shmem_barrier_all();                                                                               \
    shmem_##name##_atomic_set(word + 1, (type)(me + 1), NEXT);                                         \
    shmem_barrier_all();                                                                               \
    EXPECT(word[1] == (type)(LAST + 1));                                                               \
    EXPECT(shmem_##name##_atomic_fetch(word + 1, NEXT) == (type)(me + 1));                             \
    shmem_barrier_all();                                                                               \
  }
WORDS(SWAPS)
SWAPS(float, float)
SWAPS(double, double)

#define BITS(name, type)                                                                               \
  static void bits_##name(type* word) {                                                                \
    if (me == 0) word[0] = 0, word[1] = (type)~(type)0, word[2] = 0;                                   \
    shmem_barrier_all();                                                                               \
    const type bit = (type)1 << (me % 16 + sizeof(type) * 8 - 16), low = (type)1 << (me % 16);         \
    shmem_##name##_atomic_or(word, bit, 0);                                                            \
    (void)shmem_##name##_atomic_fetch_or(word, low, 0);                                                \
    shmem_##name##_atomic_and(word + 1, (type)~bit, 0);                                                \
    (void)shmem_##name##_atomic_fetch_and(word + 1, (type)~low, 0);                                    \
    for (int i = 0; i < 3; ++i) shmem_##name##_atomic_xor(word + 2, bit, 0);                           \
    (void)shmem_##name##_atomic_fetch_xor(word + 2, low, 0);                                           \
    shmem_barrier_all();                                                                               \
    type all = 0;                                                                                      \
    for (int pe = 0; pe < pes; ++pe)                                                                   \
      all |= (type)1 << (pe % 16 + sizeof(type) * 8 - 16) | (type)1 << (pe % 16);                      \
    EXPECT(shmem_##name##_g(word, 0) == all && shmem_##name##_g(word + 1, 0) == (type)~all);           \
    EXPECT(pes > 16 || shmem_##name##_g(word + 2, 0) == all);                                          \
    shmem_barrier_all();                                                                               \
  }
BIT_WORDS(BITS)

static void of_atomics(memory* at) {
#define CALL(name, type) arithmetic_##name((type*)at->words, (type*)(at->words + 2));
  WORDS(CALL)
#undef CALL
#define CALL(name, type) swaps_##name((type*)at->words, (type*)(at->words + 2));
  WORDS(CALL) CALL(float, float) CALL(double, double)
#undef CALL
#define CALL(name, type) bits_##name((type*)at->words);
  BIT_WORDS(CALL)
#undef CALL
}

/* --- Signals ---------------------------------------------------------------------------------------------------------- */
/* Data and signal each in either memory; every PE to every other at once. */
static void of_signals(memory* data, memory* signals) {
  memset(data->words, 0, sizeof data->words);
  memset(signals->signals, 0, sizeof signals->signals);
  shmem_barrier_all();
  static long own[4][100];
  for (int round = 1; round <= 4; ++round) {
    for (int i = 0; i < 100; ++i) own[round - 1][i] = me * 10000 + round * 1000 + i;
    for (int pe = 0; pe < pes; ++pe) {
      if (round % 2 == 0)
        shmem_long_put_signal_nbi(data->words + 100 * me, own[round - 1], 100, signals->signals + me, (uint64_t)round,
                                  SHMEM_SIGNAL_SET, pe);
      else
        shmem_long_put_signal(data->words + 100 * me, own[round - 1], 100, signals->signals + me, 1, SHMEM_SIGNAL_ADD, pe);
    }
    for (int pe = 0; pe < pes; ++pe) {
      EXPECT(shmem_signal_wait_until(signals->signals + pe, SHMEM_CMP_EQ, (uint64_t)round) == (uint64_t)round);
      int same = 1;
      for (int i = 0; i < 100; ++i) same &= data->words[100 * pe + i] == pe * 10000 + round * 1000 + i;
      EXPECT(same);
      EXPECT(shmem_signal_fetch(signals->signals + pe) == (uint64_t)round);
    }
    shmem_barrier_all();
  }
  shmem_signal_set(SHMEM_CTX_DEFAULT, signals->signals, UINT64_MAX, NEXT);
  EXPECT(shmem_signal_wait_until(signals->signals, SHMEM_CMP_EQ, UINT64_MAX) == UINT64_MAX);
  shmem_barrier_all();
  shmem_signal_add(SHMEM_CTX_DEFAULT, signals->signals, 2, NEXT); /* Around. */
  EXPECT(shmem_signal_wait_until(signals->signals, SHMEM_CMP_EQ, 1) == 1);
  shmem_barrier_all();
}

/* --- Waits for several words -------------------------------------------------------------------------------------------- */
static void of_several_words(memory* at) {
  enum { count = 40 };
  long wanted[count];
  int status[count];
  size_t indices[count];
  memset(at->words, 0, sizeof at->words);
  shmem_barrier_all();
  for (int i = 0; i < count; ++i) wanted[i] = i + 1, status[i] = i % 3 == 0;
  /* Those with a status stay 0, and would hang a wait that looked at them. */
  for (int i = 0; i < count; ++i)
    if (!status[i]) shmem_long_p(at->words + i, i + 1, NEXT);
  int seen[count] = {0};
  for (int left = count - (count + 2) / 3; left > 0;) {
    const size_t found = shmem_long_wait_until_some_vector(at->words, count, indices, status, SHMEM_CMP_EQ, wanted);
    EXPECT(found >= 1 && found <= (size_t)left);
    for (size_t i = 0; i < found; ++i) {
      EXPECT(indices[i] < count && indices[i] % 3 != 0 && !seen[indices[i]]);
      seen[indices[i]] = status[indices[i]] = 1;
    }
    left -= (int)found;
  }
  EXPECT(shmem_long_wait_until_some_vector(at->words, count, indices, status, SHMEM_CMP_EQ, wanted) == 0);
  EXPECT(shmem_long_test_some_vector(at->words, count, indices, status, SHMEM_CMP_EQ, wanted) == 0);
  EXPECT(shmem_long_wait_until_any_vector(at->words, count, status, SHMEM_CMP_EQ, wanted) == SIZE_MAX);
  EXPECT(shmem_long_test_any_vector(at->words, count, status, SHMEM_CMP_EQ, wanted) == SIZE_MAX);
  for (int i = 0; i < count; ++i) status[i] = i % 3 == 0;
  shmem_long_wait_until_all_vector(at->words, count, status, SHMEM_CMP_EQ, wanted);
  EXPECT(shmem_long_test_all_vector(at->words, count, status, SHMEM_CMP_EQ, wanted));
  EXPECT(!shmem_long_test_all_vector(at->words, count, NULL, SHMEM_CMP_EQ, wanted));
  shmem_barrier_all();
  /* A vector that grows while it is waited for, with each comparison. */
  for (int i = 0; i < count; ++i) wanted[i] = 1000 + i, status[i] = 0;
  for (int i = count - 1; i >= 0; --i) shmem_long_atomic_add(at->words + i, 2000, NEXT);
  shmem_long_wait_until_all_vector(at->words, count, NULL, SHMEM_CMP_GT, wanted);
  for (int found = 0; found < count; ++found) {
    const size_t i = shmem_long_wait_until_any_vector(at->words, count, status, SHMEM_CMP_GE, wanted);
    EXPECT(i < count && !status[i]);
    status[i] = 1;
  }
  shmem_barrier_all();
  memset(at->words, 0xff, sizeof at->words); /* -1: less than 0 as a long. */
  shmem_barrier_all();
  EXPECT(shmem_long_test(at->words, SHMEM_CMP_LT, 0) && !shmem_ulong_test((unsigned long*)at->words, SHMEM_CMP_LT, 1));
  shmem_long_wait_until(at->words, SHMEM_CMP_LE, -1);
  shmem_ulong_wait_until((unsigned long*)at->words, SHMEM_CMP_GT, 5);
  shmem_barrier_all();
}

/* --- Contexts and teams ----------------------------------------------------------------------------------------------------- */
static void of_contexts(memory* at) {
  static const long options[] = {0, SHMEM_CTX_PRIVATE, SHMEM_CTX_SERIALIZED, SHMEM_CTX_NOSTORE,
                                 SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE, SHMEM_CTX_SERIALIZED | SHMEM_CTX_NOSTORE};
  enum { kinds = sizeof options / sizeof *options, many = 60 };
  shmem_ctx_t contexts[many];
  memset(at->words, 0, sizeof at->words);
  shmem_barrier_all();
  for (int i = 0; i < many; ++i) EXPECT(shmem_ctx_create(options[i % kinds], contexts + i) == 0);
  for (int i = 0; i < many; ++i) {
    shmem_ctx_long_p(contexts[i], at->words + i, i + 1, NEXT);
    shmem_ctx_long_atomic_add(contexts[i], at->words + 100 + i, me + 1, NEXT);
  }
  for (int i = 0; i < many; i += 2) shmem_ctx_quiet(contexts[i]), shmem_ctx_destroy(contexts[i]);
  for (int i = 1; i < many; i += 2) shmem_ctx_fence(contexts[i]), shmem_ctx_destroy(contexts[i]); /* Which is quiet. */
  shmem_sync_all();
  for (int i = 0; i < many; ++i) EXPECT(at->words[i] == i + 1 && at->words[100 + i] == LAST + 1);
  shmem_ctx_destroy(SHMEM_CTX_INVALID);
  shmem_ctx_quiet(SHMEM_CTX_INVALID);
  shmem_ctx_fence(SHMEM_CTX_INVALID);
  shmem_barrier_all();
  /* Of a team that counts backwards. */
  shmem_team_t back;
  shmem_ctx_t ctx;
  EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, pes - 1, -1, pes, NULL, 0, &back) == 0);
  EXPECT(shmem_team_my_pe(back) == pes - 1 - me);
  EXPECT(shmem_team_create_ctx(back, SHMEM_CTX_PRIVATE, &ctx) == 0);
  const int there = (shmem_team_my_pe(back) + 1) % pes;
  shmem_ctx_long_p(ctx, at->words + 200, me + 5, there);
  long got = 0;
  shmem_ctx_long_get(ctx, &got, at->words, 1, there);
  EXPECT(got == 1);
  EXPECT(shmem_ctx_long_atomic_fetch(ctx, at->words + 1, there) == 2);
  shmem_ctx_long_put_signal(ctx, at->words + 201, &got, 1, at->signals, 9, SHMEM_SIGNAL_SET, there);
  EXPECT(shmem_signal_wait_until(at->signals, SHMEM_CMP_EQ, 9) == 9 && at->words[201] == 1);
  shmem_ctx_quiet(ctx);
  shmem_team_sync(back);
  EXPECT(at->words[200] == NEXT + 5);
  shmem_team_destroy(back); /* And its context. */
  shmem_barrier_all();
  at->signals[0] = 0;
}

static void of_teams(void) {
  static long sum, one = 1, all[64], mine;
  for (int range = 1; range <= pes + 2; ++range) {
    shmem_team_t across = SHMEM_TEAM_WORLD, down = SHMEM_TEAM_WORLD;
    shmem_team_config_t config = {2}, found = {77};
    EXPECT(shmem_team_split_2d(SHMEM_TEAM_WORLD, range, &config, SHMEM_TEAM_NUM_CONTEXTS, &across, NULL, 0, &down) == 0);
    const int width = range < pes ? range : pes, x = me % width, y = me / width;
    const int in_row = y == (pes - 1) / width ? pes - y * width : width;
    const int in_column = (pes - x + width - 1) / width;
    EXPECT(shmem_team_my_pe(across) == x && shmem_team_n_pes(across) == in_row);
    EXPECT(shmem_team_my_pe(down) == y && shmem_team_n_pes(down) == in_column);
    EXPECT(shmem_team_translate_pe(across, x, SHMEM_TEAM_WORLD) == me);
    EXPECT(shmem_team_translate_pe(down, y, across) == x);
    EXPECT(shmem_team_translate_pe(across, in_row, SHMEM_TEAM_WORLD) == -1);
    EXPECT(shmem_team_translate_pe(across, -1, SHMEM_TEAM_WORLD) == -1);
    EXPECT(shmem_team_get_config(across, SHMEM_TEAM_NUM_CONTEXTS, &found) == 0 && found.num_contexts == 2);
    EXPECT(shmem_team_get_config(across, 0, NULL) == 0);
    EXPECT(shmem_long_sum_reduce(across, &sum, &one, 1) == 0 && sum == in_row);
    EXPECT(shmem_long_sum_reduce(down, &sum, &one, 1) == 0 && sum == in_column);
    /* As many elements as the PE's number in the team: none of the first. */
    EXPECT(shmem_long_collect(across, all, (mine = me, &mine), x == 1) == 0);
    if (in_row > 1) EXPECT(all[0] == y * width + 1);
    /* A team of a team. */
    shmem_team_t half;
    EXPECT(shmem_team_split_strided(across, 0, 2, (in_row + 1) / 2, NULL, 0, &half) == 0);
    EXPECT((half != SHMEM_TEAM_INVALID) == (x % 2 == 0));
    EXPECT(shmem_team_my_pe(half) == (x % 2 == 0 ? x / 2 : -1));
    if (half != SHMEM_TEAM_INVALID) EXPECT(shmem_team_translate_pe(half, x / 2, down) == y);
    shmem_team_destroy(half);
    shmem_team_destroy(across);
    shmem_team_destroy(down);
  }
  shmem_team_t none = SHMEM_TEAM_WORLD, other = SHMEM_TEAM_WORLD;
  EXPECT(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &none) != 0 && none == SHMEM_TEAM_INVALID);
  none = SHMEM_TEAM_WORLD;
  EXPECT(shmem_team_split_2d(SHMEM_TEAM_INVALID, 1, NULL, 0, &none, NULL, 0, &other) != 0);
  EXPECT(none == SHMEM_TEAM_INVALID && other == SHMEM_TEAM_INVALID);
  EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 0, 1, NULL, 0, &none) == 0);
  EXPECT((none != SHMEM_TEAM_INVALID) == (me == 0));
  shmem_team_destroy(none);
  EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 0, NULL, 0, &none) != 0);
  EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, -1, 1, 1, NULL, 0, &none) != 0);
  EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, pes, 1, 1, NULL, 0, &none) != 0 && none == SHMEM_TEAM_INVALID);
  EXPECT(shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, SHMEM_TEAM_WORLD) == -1);
  EXPECT(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, SHMEM_TEAM_INVALID) == -1);
  shmem_barrier_all();
}

/* --- Collectives in place, and of different lengths ---------------------------------------------------------------------------- */
static void of_collectives(memory* at) {
  long* const to = at->words + 1500;
  for (int i = 0; i < 500; ++i) at->words[i] = me + i, to[i] = -1;
  shmem_barrier_all();
  EXPECT(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, at->words, at->words, 500) == 0); /* In place. */
  for (int i = 0; i < 500; ++i) EXPECT(at->words[i] == (long)pes * i + (long)pes * (pes - 1) / 2);
  shmem_barrier_all();
  for (int i = 0; i < 500; ++i) at->words[i] = me * 1000 + i;
  const size_t own = (size_t)(me % 3);
  EXPECT(shmem_long_collect(SHMEM_TEAM_WORLD, to, at->words, own) == 0);
  int place = 0, same = 1;
  for (int pe = 0; pe < pes; ++pe)
    for (int i = 0; i < pe % 3; ++i) same &= to[place++] == pe * 1000 + i;
  EXPECT(same && to[place] == -1);
  shmem_barrier_all();
  EXPECT(shmem_long_broadcast(SHMEM_TEAM_WORLD, to, at->words, 3, pes - 1) == 0);
  EXPECT(to[0] == (pes - 1) * 1000 && to[2] == (pes - 1) * 1000 + 2); /* At the root, too. */
  shmem_barrier_all();
  for (int i = 0; i < 500; ++i) to[i] = -1;
  EXPECT(shmem_long_alltoalls(SHMEM_TEAM_WORLD, to, at->words, 3, 2, 2) == 0);
  for (int pe = 0; pe < pes; ++pe)
    for (int i = 0; i < 2; ++i) EXPECT(to[(pe * 2 + i) * 3] == pe * 1000 + (me * 2 + i) * 2);
  shmem_barrier_all();
  EXPECT(shmem_long_sum_inscan(SHMEM_TEAM_WORLD, to, (at->words[0] = me + 1, at->words), 1) == 0);
  EXPECT(to[0] == (long)(me + 1) * (me + 2) / 2);
  EXPECT(shmem_long_sum_exscan(SHMEM_TEAM_WORLD, to, at->words, 1) == 0);
  EXPECT(to[0] == (long)me * (me + 1) / 2);
  shmem_barrier_all();
}

/* --- Stores of the program's own ------------------------------------------------------------------------------------------------- */
static void of_pointers(void) {
  heap->words[0] = heap->words[1] = 0;
  shmem_barrier_all();
  long* const there = shmem_ptr(heap->words, NEXT);
  if (there != NULL) {
    EXPECT(shmem_team_ptr(SHMEM_TEAM_WORLD, heap->words, NEXT) == there);
    __atomic_store_n(there, me + 1, __ATOMIC_RELEASE); /* Tells nobody. */
    EXPECT(shmem_long_g(heap->words, NEXT) == me + 1);
  } else {
    shmem_long_p(heap->words, me + 1, NEXT);
  }
  shmem_long_wait_until(heap->words, SHMEM_CMP_EQ, LAST + 1);
  shmem_barrier_all();
  EXPECT(shmem_ptr(heap->words, -1) == NULL && shmem_ptr(heap->words, pes) == NULL && shmem_ptr(NULL, me) == NULL);
  EXPECT(shmem_team_ptr(SHMEM_TEAM_WORLD, heap->words, pes) == NULL);
}

/* --- Locks --------------------------------------------------------------------------------------------------------------------------- */
static void of_locks(memory* at) {
  at->lock = 0;
  memset(at->words, 0, 16);
  shmem_barrier_all();
  for (int i = 0; i < 30; ++i) {
    if (i % 3 == 0)
      while (shmem_test_lock(&at->lock)) continue;
    else
      shmem_set_lock(&at->lock);
    const long value = shmem_long_g(at->words, 0), twin = shmem_long_g(at->words + 1, pes - 1);
    EXPECT(value == twin);
    shmem_long_p(at->words, value + 1, 0);
    shmem_long_p(at->words + 1, twin + 1, pes - 1);
    shmem_clear_lock(&at->lock); /* Which is quiet. */
  }
  shmem_barrier_all();
  EXPECT(shmem_long_g(at->words, 0) == 30 * pes && shmem_long_g(at->words + 1, pes - 1) == 30 * pes);
  shmem_barrier_all();
  EXPECT(at->lock == 0); /* As a program that looks would find it. */
  shmem_barrier_all();
}

/* --- Active messages of no bytes, to oneself, from handlers ---------------------------------------------------------------------------- */
static int empty_id, back_id;
static long handled, answered;
static void on_empty(void* payload, size_t length, void* args_r, void* args_p, int source) {
  (void)payload, (void)args_r, (void)args_p;
  EXPECT(length == 0);
  ++handled;
  shmemx_am_send_nbi(back_id, NULL, 0, source);
}
static void on_back(void* payload, size_t length, void* args_r, void* args_p, int source) {
  (void)payload, (void)length, (void)args_r, (void)args_p, (void)source;
  ++answered;
}
static void of_messages(void) {
  handled = answered = 0;
  shmemx_am_set_handler_all(on_empty, NULL, &empty_id);
  shmemx_am_set_handler_all(on_back, NULL, &back_id);
  for (int pe = 0; pe < pes; ++pe)
    for (int i = 0; i < 20; ++i) shmemx_am_send_nbi(empty_id, NULL, 0, pe);
  shmemx_am_barrier_all(NULL);
  EXPECT(handled == 20 * pes && answered == 20 * pes);
  EXPECT(shmemx_am_poll(NULL) == 0);
  shmem_barrier_all();
}

int main(int argc, char** argv) {
  begin();
  heap = shmem_calloc(1, sizeof *heap);
  memory* const both[] = {heap, &global};
  if (argc > 1) { /* The last PE fails with the lock, which all others wait for. */
    if (me == pes - 1) {
      shmem_set_lock(&global.lock);
      shmem_barrier_all();
      abort();
    }
    shmem_barrier_all();
    shmem_set_lock(&global.lock);
    return 0;
  }
  (void)argv;
  for (int i = 0; i < 2; ++i) {
    of_nothing(both[i]);
    of_sizes(both[i]);
    of_strides(both[i]);
    of_atomics(both[i]);
    of_signals(both[i], both[i]);
    of_signals(both[i], both[1 - i]);
    of_several_words(both[i]);
    of_contexts(both[i]);
    of_collectives(both[i]);
    of_locks(both[i]);
  }
  of_teams();
  of_messages();
  of_pointers();
  shmem_free(heap);
  return end();
}
