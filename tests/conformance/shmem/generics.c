/* C11's names with every type of the standard's tables: that it compiles is the test. */
#include "conform.h"

static shmem_ctx_t ctx;

#define OF_NUMBER(NAME, T)                                                     \
  void number_##NAME(T* to, const T* from, uint64_t* signal) {                 \
    shmem_put(to, from, 1, 0), shmem_put(ctx, to, from, 1, 0);                 \
    shmem_put_nbi(to, from, 1, 0), shmem_put_nbi(ctx, to, from, 1, 0);         \
    shmem_get(to, from, 1, 0), shmem_get(ctx, to, from, 1, 0);                 \
    shmem_get_nbi(to, from, 1, 0), shmem_get_nbi(ctx, to, from, 1, 0);         \
    shmem_p(to, (T)1, 0), shmem_p(ctx, to, (T)1, 0);                           \
    *to = (T)(shmem_g(from, 0) + shmem_g(ctx, from, 0));                       \
    shmem_iput(to, from, 1, 1, 1, 0), shmem_iput(ctx, to, from, 1, 1, 1, 0);   \
    shmem_iget(to, from, 1, 1, 1, 0), shmem_iget(ctx, to, from, 1, 1, 1, 0);   \
    shmem_ibput(to, from, 1, 1, 1, 1, 0), shmem_ibput(ctx, to, from, 1, 1, 1, 1, 0); \
    shmem_ibget(to, from, 1, 1, 1, 1, 0), shmem_ibget(ctx, to, from, 1, 1, 1, 1, 0); \
    shmem_put_signal(to, from, 1, signal, 1, SHMEM_SIGNAL_SET, 0);             \
    shmem_put_signal(ctx, to, from, 1, signal, 1, SHMEM_SIGNAL_SET, 0);        \
    shmem_put_signal_nbi(to, from, 1, signal, 1, SHMEM_SIGNAL_SET, 0);         \
    shmem_put_signal_nbi(ctx, to, from, 1, signal, 1, SHMEM_SIGNAL_SET, 0);    \
    shmem_broadcast(SHMEM_TEAM_WORLD, to, from, 1, 0);                         \
    shmem_collect(SHMEM_TEAM_WORLD, to, from, 1);                              \
    shmem_fcollect(SHMEM_TEAM_WORLD, to, from, 1);                             \
    shmem_alltoall(SHMEM_TEAM_WORLD, to, from, 1);                             \
    shmem_alltoalls(SHMEM_TEAM_WORLD, to, from, 1, 1, 1);                      \
  }
NUMBERS(OF_NUMBER)

#define OF_SUM(NAME, T)                                                        \
  void sum_##NAME(T* to, const T* from) {                                      \
    shmem_sum_reduce(SHMEM_TEAM_WORLD, to, from, 1), shmem_prod_reduce(SHMEM_TEAM_WORLD, to, from, 1); \
    shmem_sum_inscan(SHMEM_TEAM_WORLD, to, from, 1), shmem_sum_exscan(SHMEM_TEAM_WORLD, to, from, 1); \
  }
NUMBERS(OF_SUM)
OF_SUM(complexd, double _Complex)
OF_SUM(complexf, float _Complex)

#define OF_ORDER(NAME, T)                                                      \
  void order_##NAME(T* to, const T* from) {                                    \
    shmem_max_reduce(SHMEM_TEAM_WORLD, to, from, 1), shmem_min_reduce(SHMEM_TEAM_WORLD, to, from, 1); \
  }
NUMBERS(OF_ORDER)

#define OF_BIT_NUMBER(NAME, T)                                                 \
  void bit_number_##NAME(T* to, const T* from) {                               \
    shmem_and_reduce(SHMEM_TEAM_WORLD, to, from, 1);                           \
    shmem_or_reduce(SHMEM_TEAM_WORLD, to, from, 1);                            \
    shmem_xor_reduce(SHMEM_TEAM_WORLD, to, from, 1);                           \
  }
BIT_NUMBERS(OF_BIT_NUMBER)

#define OF_WHOLE(NAME, T)                                                      \
  void whole_##NAME(T* word, T* old) {                                         \
    *old = shmem_atomic_fetch(word, 0) + shmem_atomic_fetch(ctx, word, 0);     \
    *old = shmem_atomic_swap(word, *old, 0) + shmem_atomic_swap(ctx, word, *old, 0); \
    shmem_atomic_set(word, *old, 0), shmem_atomic_set(ctx, word, *old, 0);     \
    shmem_atomic_fetch_nbi(old, word, 0), shmem_atomic_fetch_nbi(ctx, old, word, 0); \
    shmem_atomic_swap_nbi(old, word, 1, 0), shmem_atomic_swap_nbi(ctx, old, word, 1, 0); \
  }
WORDS(OF_WHOLE)
OF_WHOLE(float, float)
OF_WHOLE(double, double)

#define OF_WORD(NAME, T)                                                       \
  void word_##NAME(T* word, T* old, size_t* indices, const int* status) {      \
    *old = shmem_atomic_compare_swap(word, 0, 1, 0) + shmem_atomic_compare_swap(ctx, word, 0, 1, 0); \
    *old = shmem_atomic_fetch_inc(word, 0) + shmem_atomic_fetch_inc(ctx, word, 0); \
    *old = shmem_atomic_fetch_add(word, 1, 0) + shmem_atomic_fetch_add(ctx, word, 1, 0); \
    shmem_atomic_inc(word, 0), shmem_atomic_inc(ctx, word, 0);                 \
    shmem_atomic_add(word, 1, 0), shmem_atomic_add(ctx, word, 1, 0);           \
    shmem_atomic_compare_swap_nbi(old, word, 0, 1, 0), shmem_atomic_compare_swap_nbi(ctx, old, word, 0, 1, 0); \
    shmem_atomic_fetch_inc_nbi(old, word, 0), shmem_atomic_fetch_inc_nbi(ctx, old, word, 0); \
    shmem_atomic_fetch_add_nbi(old, word, 1, 0), shmem_atomic_fetch_add_nbi(ctx, old, word, 1, 0); \
    shmem_wait_until(word, SHMEM_CMP_EQ, 1);                                   \
    shmem_wait_until_all(word, 1, status, SHMEM_CMP_EQ, 1);                    \
    shmem_wait_until_any(word, 1, status, SHMEM_CMP_EQ, 1);                    \
    shmem_wait_until_some(word, 1, indices, status, SHMEM_CMP_EQ, 1);          \
    shmem_wait_until_all_vector(word, 1, status, SHMEM_CMP_EQ, old);           \
    shmem_wait_until_any_vector(word, 1, status, SHMEM_CMP_EQ, old);           \
    shmem_wait_until_some_vector(word, 1, indices, status, SHMEM_CMP_EQ, old); \
    shmem_test(word, SHMEM_CMP_EQ, 1);                                         \
    shmem_test_all(word, 1, status, SHMEM_CMP_EQ, 1);                          \
    shmem_test_any(word, 1, status, SHMEM_CMP_EQ, 1);                          \
    shmem_test_some(word, 1, indices, status, SHMEM_CMP_EQ, 1);                \
    shmem_test_all_vector(word, 1, status, SHMEM_CMP_EQ, old);                 \
    shmem_test_any_vector(word, 1, status, SHMEM_CMP_EQ, old);                 \
    shmem_test_some_vector(word, 1, indices, status, SHMEM_CMP_EQ, old);       \
  }
WORDS(OF_WORD)

#define OF_BIT_WORD(NAME, T)                                                   \
  void bit_word_##NAME(T* word, T* old) {                                      \
    *old = shmem_atomic_fetch_and(word, 1, 0) + shmem_atomic_fetch_and(ctx, word, 1, 0); \
    *old = shmem_atomic_fetch_or(word, 1, 0) + shmem_atomic_fetch_or(ctx, word, 1, 0); \
    *old = shmem_atomic_fetch_xor(word, 1, 0) + shmem_atomic_fetch_xor(ctx, word, 1, 0); \
    shmem_atomic_and(word, 1, 0), shmem_atomic_and(ctx, word, 1, 0);           \
    shmem_atomic_or(word, 1, 0), shmem_atomic_or(ctx, word, 1, 0);             \
    shmem_atomic_xor(word, 1, 0), shmem_atomic_xor(ctx, word, 1, 0);           \
    shmem_atomic_fetch_and_nbi(old, word, 1, 0), shmem_atomic_fetch_and_nbi(ctx, old, word, 1, 0); \
    shmem_atomic_fetch_or_nbi(old, word, 1, 0), shmem_atomic_fetch_or_nbi(ctx, old, word, 1, 0); \
    shmem_atomic_fetch_xor_nbi(old, word, 1, 0), shmem_atomic_fetch_xor_nbi(ctx, old, word, 1, 0); \
  }
BIT_WORDS(OF_BIT_WORD)

#define OF_OLD(NAME, T)                                                        \
  void old_##NAME(T* word) {                                                   \
    *word = shmem_fetch(word, 0) + shmem_swap(word, 1, 0);                     \
    shmem_set(word, 1, 0);                                                     \
  }
OF_OLD(int, int)
OF_OLD(long, long)
OF_OLD(longlong, long long)
OF_OLD(float, float)
OF_OLD(double, double)

int main(void) {
  begin();
  return end();
}
