/* Atomic operations of every type, of all PEs on words of PE 0, on both kinds of memory. */
#include "conform.h"

static shmem_ctx_t ctx;

#define SET_AND_SWAP(NAME, T)                                                              \
  static void whole_##NAME(void) {                                                         \
    static T word;                                                                         \
    T got = 0;                                                                             \
    shmem_##NAME##_atomic_set(&word, (T)7, NEXT);                                          \
    shmem_barrier_all();                                                                   \
    EXPECT(shmem_##NAME##_atomic_fetch(&word, NEXT) == (T)7);                              \
    EXPECT(shmem_##NAME##_atomic_swap(&word, (T)8, NEXT) == (T)7);                         \
    EXPECT(shmem_ctx_##NAME##_atomic_swap(ctx, &word, (T)9, NEXT) == (T)8);                \
    EXPECT(shmem_ctx_##NAME##_atomic_fetch(ctx, &word, NEXT) == (T)9);                     \
    shmem_ctx_##NAME##_atomic_set(ctx, &word, (T)10, NEXT);                                \
    shmem_ctx_quiet(ctx);                                                                  \
    shmem_##NAME##_atomic_fetch_nbi(&got, &word, NEXT);                                    \
    shmem_quiet();                                                                         \
    EXPECT(got == (T)10);                                                                  \
    shmem_##NAME##_atomic_swap_nbi(&got, &word, (T)11, NEXT);                              \
    shmem_quiet();                                                                         \
    shmem_ctx_##NAME##_atomic_swap_nbi(ctx, &got, &word, (T)12, NEXT);                     \
    shmem_ctx_quiet(ctx);                                                                  \
    EXPECT(got == (T)11);                                                                  \
    shmem_ctx_##NAME##_atomic_fetch_nbi(ctx, &got, &word, NEXT);                           \
    shmem_ctx_quiet(ctx);                                                                  \
    EXPECT(got == (T)12);                                                                  \
    shmem_barrier_all();                                                                   \
  }
WORDS(SET_AND_SWAP)
SET_AND_SWAP(float, float)
SET_AND_SWAP(double, double)

#define COUNTED(NAME, T)                                                                   \
  static void counted_##NAME(void) {                                                       \
    T* const word = shmem_calloc(2, sizeof(T));                                            \
    T got = 0;                                                                             \
    for (int i = 0; i < 20; ++i) {                                                         \
      (void)shmem_##NAME##_atomic_fetch_add(word, 1, 0);                                   \
      shmem_##NAME##_atomic_add(word, 2, 0);                                               \
      shmem_##NAME##_atomic_inc(word, 0);                                                  \
      (void)shmem_##NAME##_atomic_fetch_inc(word, 0);                                      \
      shmem_ctx_##NAME##_atomic_add(ctx, word, 2, 0);                                      \
      shmem_ctx_##NAME##_atomic_inc(ctx, word, 0);                                         \
      (void)shmem_ctx_##NAME##_atomic_fetch_inc(ctx, word, 0);                             \
      (void)shmem_ctx_##NAME##_atomic_fetch_add(ctx, word, 1, 0);                          \
      shmem_##NAME##_atomic_fetch_add_nbi(&got, word, 1, 0);                               \
      shmem_ctx_##NAME##_atomic_fetch_add_nbi(ctx, &got, word, 1, 0);                      \
      shmem_##NAME##_atomic_fetch_inc_nbi(&got, word, 0);                                  \
      shmem_ctx_##NAME##_atomic_fetch_inc_nbi(ctx, &got, word, 0);                         \
      shmem_ctx_quiet(ctx);                                                                \
      shmem_quiet();                                                                       \
    }                                                                                      \
    shmem_barrier_all();                                                                   \
    EXPECT(shmem_##NAME##_g(word, 0) == (T)(280 * pes));                                   \
    /* One PE each time gets the turn. */                                                  \
    const T before = shmem_##NAME##_atomic_compare_swap(word + 1, 0, (T)(me + 1), 0);      \
    shmem_barrier_all();                                                                   \
    const T winner = shmem_##NAME##_g(word + 1, 0);                                        \
    EXPECT(winner >= 1 && winner <= (T)pes && (before == 0) == (winner == (T)(me + 1)));   \
    EXPECT(shmem_ctx_##NAME##_atomic_compare_swap(ctx, word + 1, 0, 99, 0) == winner);     \
    shmem_##NAME##_atomic_compare_swap_nbi(&got, word + 1, 0, 99, 0);                      \
    shmem_quiet();                                                                         \
    EXPECT(got == winner);                                                                 \
    shmem_ctx_##NAME##_atomic_compare_swap_nbi(ctx, &got, word + 1, 0, 99, 0);             \
    shmem_ctx_quiet(ctx);                                                                  \
    EXPECT(got == winner);                                                                 \
    shmem_free(word);                                                                      \
  }
WORDS(COUNTED)

#define BITWISE(NAME, T)                                                                   \
  static void bits_##NAME(void) {                                                          \
    static T word;                                                                         \
    T got = 0;                                                                             \
    word = 0x0f;                                                                           \
    shmem_barrier_all();                                                                   \
    shmem_##NAME##_atomic_or(&word, 0x30, NEXT);                                           \
    EXPECT(shmem_##NAME##_atomic_fetch_or(&word, 0x40, NEXT) == 0x3f);                     \
    shmem_##NAME##_atomic_and(&word, 0x77, NEXT);                                          \
    EXPECT(shmem_##NAME##_atomic_fetch_and(&word, 0x73, NEXT) == 0x77);                    \
    shmem_##NAME##_atomic_xor(&word, 0x01, NEXT);                                          \
    EXPECT(shmem_##NAME##_atomic_fetch_xor(&word, 0x02, NEXT) == 0x72);                    \
    shmem_quiet();                                                                         \
    shmem_ctx_##NAME##_atomic_or(ctx, &word, 0x100, NEXT);                                 \
    EXPECT(shmem_ctx_##NAME##_atomic_fetch_or(ctx, &word, 0x200, NEXT) == 0x170);          \
    shmem_ctx_##NAME##_atomic_and(ctx, &word, 0x37f, NEXT);                                \
    EXPECT(shmem_ctx_##NAME##_atomic_fetch_and(ctx, &word, 0x270, NEXT) == 0x370);         \
    shmem_ctx_##NAME##_atomic_xor(ctx, &word, 0x1, NEXT);                                  \
    EXPECT(shmem_ctx_##NAME##_atomic_fetch_xor(ctx, &word, 0x1, NEXT) == 0x271);           \
    shmem_ctx_quiet(ctx);                                                                  \
    shmem_##NAME##_atomic_fetch_or_nbi(&got, &word, 0x1, NEXT);                            \
    shmem_quiet();                                                                         \
    EXPECT(got == 0x270);                                                                  \
    shmem_##NAME##_atomic_fetch_and_nbi(&got, &word, 0xff, NEXT);                          \
    shmem_quiet();                                                                         \
    EXPECT(got == 0x271);                                                                  \
    shmem_##NAME##_atomic_fetch_xor_nbi(&got, &word, 0x1, NEXT);                           \
    shmem_quiet();                                                                         \
    EXPECT(got == 0x71);                                                                   \
    shmem_ctx_##NAME##_atomic_fetch_or_nbi(ctx, &got, &word, 0x2, NEXT);                   \
    shmem_ctx_quiet(ctx);                                                                  \
    EXPECT(got == 0x70);                                                                   \
    shmem_ctx_##NAME##_atomic_fetch_and_nbi(ctx, &got, &word, 0x3, NEXT);                  \
    shmem_ctx_quiet(ctx);                                                                  \
    EXPECT(got == 0x72);                                                                   \
    shmem_ctx_##NAME##_atomic_fetch_xor_nbi(ctx, &got, &word, 0x3, NEXT);                  \
    shmem_ctx_quiet(ctx);                                                                  \
    EXPECT(got == 0x2);                                                                    \
    EXPECT(shmem_##NAME##_g(&word, NEXT) == 0x1);                                          \
    shmem_barrier_all();                                                                   \
  }
BIT_WORDS(BITWISE)

/* The names of earlier versions. */
#define OLD_WHOLE(NAME, T)                                                                 \
  static void old_whole_##NAME(void) {                                                     \
    static T word;                                                                         \
    shmem_##NAME##_set(&word, (T)3, NEXT);                                                 \
    shmem_barrier_all();                                                                   \
    EXPECT(shmem_##NAME##_fetch(&word, NEXT) == (T)3);                                     \
    EXPECT(shmem_##NAME##_swap(&word, (T)4, NEXT) == (T)3);                                \
    shmem_barrier_all();                                                                   \
  }
#define OLD_COUNTED(NAME, T)                                                               \
  static void old_##NAME(void) {                                                           \
    static T word;                                                                         \
    word = 0;                                                                              \
    shmem_barrier_all();                                                                   \
    (void)shmem_##NAME##_finc(&word, 0);                                                   \
    shmem_##NAME##_inc(&word, 0);                                                          \
    (void)shmem_##NAME##_fadd(&word, 2, 0);                                                \
    shmem_##NAME##_add(&word, 3, 0);                                                       \
    shmem_barrier_all();                                                                   \
    EXPECT(shmem_##NAME##_cswap(&word, -1, 0, 0) == (T)(7 * pes));                         \
    shmem_barrier_all();                                                                   \
  }
OLD_WHOLE(int, int)
OLD_WHOLE(long, long)
OLD_WHOLE(longlong, long long)
OLD_WHOLE(float, float)
OLD_WHOLE(double, double)
OLD_COUNTED(int, int)
OLD_COUNTED(long, long)
OLD_COUNTED(longlong, long long)

/* The update of one whose old value comes later is in order with what stands behind a fence, whatever way each goes. */
static void of_order(void) {
  static long counted, swapped, olds[2];
  long* const flag = shmem_calloc(1, sizeof *flag);
  for (long round = 1; round <= 50; ++round) {
    shmem_ctx_long_atomic_fetch_inc_nbi(ctx, olds, &counted, NEXT);
    shmem_ctx_long_atomic_swap_nbi(ctx, olds + 1, &swapped, round, NEXT);
    shmem_ctx_fence(ctx);
    shmem_ctx_long_p(ctx, flag, round, NEXT);
    shmem_long_wait_until(flag, SHMEM_CMP_EQ, round);
    EXPECT(counted == round && swapped == round);
    shmem_ctx_quiet(ctx);
    EXPECT(olds[0] == round - 1 && olds[1] == round - 1);
    shmem_sync_all();
  }
  shmem_free(flag);
}

#if __STDC_VERSION__ >= 201112l
/* The deprecated generic names take types that came later, too. */
static void old_generics(void) {
  static unsigned int word;
  static unsigned long wide;
  shmem_add(&word, 2u, NEXT);
  (void)shmem_fadd(&word, 3u, NEXT);
  shmem_inc(&word, NEXT);
  (void)shmem_finc(&word, NEXT);
  shmem_set(&wide, 5ul, NEXT);
  shmem_barrier_all();
  EXPECT(word == 7 && shmem_fetch(&wide, NEXT) == 5);
  shmem_barrier_all();
  EXPECT(shmem_cswap(&wide, 5ul, 6ul, NEXT) == 5 && shmem_swap(&wide, 8ul, NEXT) == 6);
  shmem_barrier_all();
}
#endif

int main(void) {
  begin();
  shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx);
#define CALL_WHOLE(NAME, T) whole_##NAME();
#define CALL_COUNTED(NAME, T) counted_##NAME();
#define CALL_BITS(NAME, T) bits_##NAME();
  WORDS(CALL_WHOLE)
  whole_float();
  whole_double();
  WORDS(CALL_COUNTED)
  BIT_WORDS(CALL_BITS)
  old_whole_int(), old_whole_long(), old_whole_longlong(), old_whole_float(), old_whole_double();
  old_int(), old_long(), old_longlong();
  of_order();
#if __STDC_VERSION__ >= 201112l
  old_generics();
#endif
  shmem_ctx_destroy(ctx);
  return end();
}
