/* Puts and gets of every type and size, on the default context and on one that was made; strides, blocks, signals,
   order. The symmetric memory is static and on the heap. */
#include "conform.h"

enum { count = 12 };
static shmem_ctx_t ctx;

/* Every form brings 1, 2, 3, ... and is looked at after a barrier. */
#define CHECKED(T, target, first, step, n)                               \
  do {                                                                   \
    shmem_ctx_quiet(ctx);                                                \
    shmem_barrier_all();                                                 \
    for (int i_ = 0; i_ < (n); ++i_) EXPECT((target)[i_ * (step)] == (T)((first) + i_)); \
    shmem_barrier_all();                                                 \
    memset((target), 0, sizeof(T) * count * 2);                          \
    shmem_barrier_all();                                                 \
  } while (0)

#define OF_TYPE(NAME, T)                                                                     \
  static void of_##NAME(void) {                                                              \
    static T fixed[count * 2];                                                               \
    T* const heap = shmem_calloc(count * 2, sizeof(T));                                      \
    for (int part = 0; part < 2; ++part) {                                                   \
      T* const to = part == 0 ? fixed : heap;                                                \
      T from[count * 2], got[count * 2];                                                     \
      for (int i = 0; i < count * 2; ++i) from[i] = (T)(i + 1);                              \
      shmem_##NAME##_put(to, from, count, NEXT);                                             \
      CHECKED(T, to, 1, 1, count);                                                           \
      shmem_ctx_##NAME##_put(ctx, to, from, count, NEXT);                                    \
      CHECKED(T, to, 1, 1, count);                                                           \
      shmem_##NAME##_put_nbi(to, from, count, NEXT);                                         \
      CHECKED(T, to, 1, 1, count);                                                           \
      shmem_ctx_##NAME##_put_nbi(ctx, to, from, count, NEXT);                                \
      CHECKED(T, to, 1, 1, count);                                                           \
      shmem_##NAME##_p(to, from[4], NEXT);                                                   \
      shmem_ctx_##NAME##_p(ctx, to + 1, from[5], NEXT);                                      \
      CHECKED(T, to, 5, 1, 2);                                                               \
      shmem_##NAME##_iput(to, from, 2, 1, count, NEXT);                                      \
      CHECKED(T, to, 1, 2, count);                                                           \
      shmem_ctx_##NAME##_iput(ctx, to, from, 2, 1, count, NEXT);                             \
      CHECKED(T, to, 1, 2, count);                                                           \
      shmem_##NAME##_ibput(to, from, 3, 3, 2, 4, NEXT);                                      \
      shmem_ctx_##NAME##_ibput(ctx, to + 12, from + 12, 3, 3, 2, 4, NEXT);                   \
      shmem_ctx_quiet(ctx);                                                                  \
      shmem_barrier_all();                                                                   \
      for (int i = 0; i < count * 2; ++i) EXPECT(to[i] == (i % 3 == 2 ? (T)0 : (T)(i + 1))); \
      shmem_barrier_all();                                                                   \
      for (int i = 0; i < count * 2; ++i) to[i] = (T)(me + i);                               \
      shmem_barrier_all();                                                                   \
      const int of = NEXT;                                                                   \
      EXPECT(shmem_##NAME##_g(to + 3, of) == (T)(of + 3));                                   \
      EXPECT(shmem_ctx_##NAME##_g(ctx, to + 4, of) == (T)(of + 4));                          \
      memset(got, 0, sizeof got);                                                            \
      shmem_##NAME##_get(got, to, 3, of);                                                    \
      shmem_ctx_##NAME##_get(ctx, got + 3, to + 3, 3, of);                                   \
      shmem_##NAME##_get_nbi(got + 6, to + 6, 3, of);                                        \
      shmem_ctx_##NAME##_get_nbi(ctx, got + 9, to + 9, 3, of);                               \
      shmem_quiet();                                                                         \
      shmem_ctx_quiet(ctx);                                                                  \
      for (int i = 0; i < count; ++i) EXPECT(got[i] == (T)(of + i));                         \
      shmem_##NAME##_iget(got, to, 1, 2, count / 2, of);                                     \
      shmem_ctx_##NAME##_iget(ctx, got + count / 2, to + count, 1, 2, count / 2, of);        \
      for (int i = 0; i < count; ++i) EXPECT(got[i] == (T)(of + 2 * i));                     \
      shmem_##NAME##_ibget(got, to, 2, 3, 2, 3, of);                                         \
      shmem_ctx_##NAME##_ibget(ctx, got + 6, to + 9, 2, 3, 2, 3, of);                        \
      for (int i = 0; i < count; ++i) EXPECT(got[i] == (T)(of + i / 2 * 3 + i % 2));         \
      static uint64_t signal;                                                                \
      shmem_barrier_all();                                                                   \
      signal = 0;                                                                            \
      memset(to, 0, sizeof(T) * count);                                                      \
      shmem_barrier_all();                                                                   \
      shmem_##NAME##_put_signal(to, from, 3, &signal, 5, SHMEM_SIGNAL_SET, NEXT);            \
      EXPECT(shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 5) == 5);                        \
      shmem_barrier_all();                                                                   \
      shmem_ctx_##NAME##_put_signal(ctx, to + 3, from + 3, 3, &signal, 1, SHMEM_SIGNAL_ADD, NEXT); \
      shmem_##NAME##_put_signal_nbi(to + 6, from + 6, 3, &signal, 1, SHMEM_SIGNAL_ADD, NEXT); \
      shmem_ctx_##NAME##_put_signal_nbi(ctx, to + 9, from + 9, 3, &signal, 1, SHMEM_SIGNAL_ADD, NEXT); \
      shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 8);                                     \
      EXPECT(shmem_signal_fetch(&signal) == 8);                                              \
      for (int i = 0; i < count; ++i) EXPECT(to[i] == (T)(i + 1));                           \
      shmem_barrier_all();                                                                   \
    }                                                                                        \
    shmem_free(heap);                                                                        \
  }
NUMBERS(OF_TYPE)

/* By bits: `bytes` of each element, of which the first counts. */
#define OF_SIZE(BITS, BYTES)                                                                \
  static void of_size_##BITS(void) {                                                         \
    typedef struct {                                                                         \
      unsigned char byte[BYTES];                                                           \
    } element;                                                                               \
    static element to[count];                                                                \
    static uint64_t signal;                                                                  \
    element from[count], got[count];                                                         \
    for (int form = 0; form < 12; ++form) {                                                  \
      memset(to, 0, sizeof to);                                                              \
      signal = 0;                                                                            \
      for (int i = 0; i < count; ++i) memset(&from[i], form + i + 1, sizeof from[i]);        \
      shmem_barrier_all();                                                                   \
      if (form == 0) shmem_put##BITS(to, from, count, NEXT);                                 \
      if (form == 1) shmem_ctx_put##BITS(ctx, to, from, count, NEXT);                        \
      if (form == 2) shmem_put##BITS##_nbi(to, from, count, NEXT);                           \
      if (form == 3) shmem_ctx_put##BITS##_nbi(ctx, to, from, count, NEXT);                  \
      if (form == 4) shmem_iput##BITS(to, from, 1, 1, count, NEXT);                          \
      if (form == 5) shmem_ctx_iput##BITS(ctx, to, from, 1, 1, count, NEXT);                 \
      if (form == 6) shmem_ibput##BITS(to, from, 3, 3, 3, count / 3, NEXT);                  \
      if (form == 7) shmem_ctx_ibput##BITS(ctx, to, from, 3, 3, 3, count / 3, NEXT);         \
      if (form == 8) shmem_put##BITS##_signal(to, from, count, &signal, 1, SHMEM_SIGNAL_SET, NEXT); \
      if (form == 9) shmem_ctx_put##BITS##_signal(ctx, to, from, count, &signal, 1, SHMEM_SIGNAL_SET, NEXT); \
      if (form == 10) shmem_put##BITS##_signal_nbi(to, from, count, &signal, 1, SHMEM_SIGNAL_ADD, NEXT); \
      if (form == 11) shmem_ctx_put##BITS##_signal_nbi(ctx, to, from, count, &signal, 1, SHMEM_SIGNAL_ADD, NEXT); \
      shmem_ctx_quiet(ctx);                                                                  \
      shmem_barrier_all();                                                                   \
      EXPECT(memcmp(to, from, sizeof to) == 0);                                              \
      EXPECT(signal == (form >= 8));                                                         \
      memset(got, 0, sizeof got);                                                            \
      if (form == 0) shmem_get##BITS(got, to, count, NEXT);                                  \
      if (form == 1) shmem_ctx_get##BITS(ctx, got, to, count, NEXT);                         \
      if (form == 2) shmem_get##BITS##_nbi(got, to, count, NEXT);                            \
      if (form == 3) shmem_ctx_get##BITS##_nbi(ctx, got, to, count, NEXT);                   \
      if (form == 4) shmem_iget##BITS(got, to, 1, 1, count, NEXT);                           \
      if (form == 5) shmem_ctx_iget##BITS(ctx, got, to, 1, 1, count, NEXT);                  \
      if (form == 6) shmem_ibget##BITS(got, to, 3, 3, 3, count / 3, NEXT);                   \
      if (form == 7) shmem_ctx_ibget##BITS(ctx, got, to, 3, 3, 3, count / 3, NEXT);          \
      shmem_quiet();                                                                         \
      shmem_ctx_quiet(ctx);                                                                  \
      EXPECT(form > 7 || memcmp(got, from, sizeof got) == 0);                                \
      shmem_barrier_all();                                                                   \
    }                                                                                        \
  }
SIZED(OF_SIZE)

static void of_memory(void) {
  static char to[64];
  static uint64_t signal;
  char from[64], got[64];
  for (int i = 0; i < 64; ++i) from[i] = (char)(i + me);
  const int of = LAST;
  shmem_barrier_all();
  shmem_putmem(to, from, 16, NEXT);
  shmem_ctx_putmem(ctx, to + 16, from + 16, 16, NEXT);
  shmem_putmem_nbi(to + 32, from + 32, 16, NEXT);
  shmem_ctx_putmem_nbi(ctx, to + 48, from + 48, 8, NEXT);
  shmem_ctx_quiet(ctx);
  shmem_putmem_signal(to + 56, from + 56, 2, &signal, 1, SHMEM_SIGNAL_ADD, NEXT);
  shmem_ctx_putmem_signal(ctx, to + 58, from + 58, 2, &signal, 1, SHMEM_SIGNAL_ADD, NEXT);
  shmem_putmem_signal_nbi(to + 60, from + 60, 2, &signal, 1, SHMEM_SIGNAL_ADD, NEXT);
  shmem_ctx_putmem_signal_nbi(ctx, to + 62, from + 62, 2, &signal, 1, SHMEM_SIGNAL_ADD, NEXT);
  shmem_signal_wait_until(&signal, SHMEM_CMP_GE, 4);
  shmem_barrier_all();
  for (int i = 0; i < 64; ++i) EXPECT(to[i] == (char)(i + of));
  shmem_getmem(got, to, 16, NEXT);
  shmem_ctx_getmem(ctx, got + 16, to + 16, 16, NEXT);
  shmem_getmem_nbi(got + 32, to + 32, 16, NEXT);
  shmem_ctx_getmem_nbi(ctx, got + 48, to + 48, 16, NEXT);
  shmem_quiet();
  shmem_ctx_quiet(ctx);
  EXPECT(memcmp(got, from, sizeof got) == 0);
  shmem_barrier_all();
  signal = 0;
  shmem_barrier_all();
  shmem_signal_set(&signal, 3, NEXT);
  shmem_fence();
  shmem_signal_add(&signal, 4, NEXT);
  shmem_ctx_signal_add(ctx, &signal, 8, NEXT);
  shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 15);
  shmem_barrier_all();
  shmem_ctx_signal_set(ctx, &signal, 1, NEXT);
  shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 1);
  shmem_barrier_all();
}

/* put, quiet, then a word by another way: whoever sees the word sees what was put. */
static void of_order(void) {
  static long data, flag;
  for (long round = 1; round <= 200; ++round) {
    shmem_long_p(&data, round, NEXT);
    if (round % 3 == 0) {
      shmem_fence();
    } else if (round % 3 == 1) {
      shmem_quiet();
    } else {
      const int target = NEXT;
      shmem_pe_quiet(&target, 1);
      shmem_ctx_pe_quiet(ctx, &target, 1);
      shmem_ctx_fence(ctx);
    }
    shmem_long_atomic_set(&flag, round, NEXT);
    shmem_long_wait_until(&flag, SHMEM_CMP_GE, round);
    EXPECT(data == round);
    shmem_sync_all();
  }
  static char large[100000];
  char* const from = malloc(sizeof large);
  memset(from, me + 1, sizeof large);
  shmem_putmem(large, from, sizeof large, NEXT);
  free(from);
  shmem_barrier_all();
  for (size_t i = 0; i < sizeof large; i += 777) EXPECT(large[i] == LAST + 1);
  shmem_barrier_all();
}

/* The data are a global, which may go as a message, and the signal is in the heap, where it may be stored at once. */
static void of_signals_by_another_way(void) {
  static long data[512];
  long from[512];
  uint64_t* const signal = shmem_calloc(1, sizeof *signal);
  for (long round = 1; round <= 40; ++round) {
    const shmem_ctx_t on = round % 2 ? SHMEM_CTX_DEFAULT : ctx;
    const size_t n = round % 4 < 2 ? 512 : 8;
    if (round > 20) shmem_ctx_session_start(on, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    for (int i = 0; i < 512; ++i) from[i] = round;
    shmem_ctx_long_put_signal(on, data, from, n, signal, 1, SHMEM_SIGNAL_ADD, NEXT);
    shmem_signal_wait_until(signal, SHMEM_CMP_EQ, (uint64_t)round);
    EXPECT(data[0] == round && data[n - 1] == round);
    if (round > 20) shmem_ctx_session_stop(on);
    shmem_sync_all();
  }
  shmem_free(signal);
}

#if __STDC_VERSION__ >= 201112l
static void of_generics(void) {
  static double numbers[4];
  const double from[4] = {1, 2, 3, 4};
  shmem_put(numbers, from, 2, NEXT);
  shmem_put(ctx, numbers + 2, from + 2, 2, NEXT);
  shmem_ctx_quiet(ctx);
  shmem_barrier_all();
  for (int i = 0; i < 4; ++i) EXPECT(numbers[i] == from[i]);
  EXPECT(shmem_g(numbers + 1, NEXT) == 2 && shmem_g(ctx, numbers, NEXT) == 1);
  shmem_barrier_all();
}
#endif

int main(void) {
  begin();
  EXPECT(shmem_ctx_create(0, &ctx) == 0);
#define CALL(NAME, T) of_##NAME();
  NUMBERS(CALL)
#define CALL_SIZE(BITS, BYTES) of_size_##BITS();
  SIZED(CALL_SIZE)
  of_memory();
  of_order();
  of_signals_by_another_way();
#if __STDC_VERSION__ >= 201112l
  of_generics();
#endif
  shmem_ctx_destroy(ctx);
  return end();
}
