/* Likewise, for OpenSHMEM. */
#include <sched.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>

enum { rounds = 300 };

static int value, words[2], answer, turn, sum;

__attribute__((noinline)) static void load_value(const int *from) { sum += *from; }
__attribute__((noinline)) static void store_value(int *to, int of) { *to = of; }

/* A word that has been seen may be stored to, although nobody has called shmem_quiet. */
static int has_come(int way) {
  const int none[2] = {0, 0};
  size_t indices[2];
  switch (way % 4) {
    case 0: return shmem_int_test(&words[0], SHMEM_CMP_EQ, 1);
    case 1: return shmem_int_test_all(words, 2, none, SHMEM_CMP_EQ, 1);
    case 2: return shmem_int_test_any(words, 2, none, SHMEM_CMP_EQ, 1) != SIZE_MAX &&
                   shmem_int_test_all(words, 2, none, SHMEM_CMP_EQ, 1);
    default: return shmem_int_test_some(words, 2, indices, none, SHMEM_CMP_EQ, 1) == 2;
  }
}
static void by_tests(int me) {
  for (int i = 1; i <= rounds; ++i) {
    if (me == 0) {
      shmem_int_put(&value, &i, 1, 1);
      shmem_fence();
      if (i % 4 != 0) shmem_int_p(&words[1], 1, 1);
      shmem_fence();
      shmem_int_p(&words[0], 1, 1);
      while (!shmem_int_test(&answer, SHMEM_CMP_EQ, i)) sched_yield();
    } else {
      while (!has_come(i)) sched_yield();
      load_value(&value);
      if (value != i) printf("wrong\n");
      store_value(&words[0], 0);
      store_value(&words[1], 0);
      store_value(&value, 0);
      shmem_int_p(&answer, i, 0);
    }
  }
  shmem_barrier_all();
}

static void by_updates(int me) {
  for (int i = 0; i < rounds; ++i) {
    while (shmem_int_atomic_fetch(&turn, 0) != 2 * i + me) sched_yield();
    if (me == 0) {
      shmem_int_put(&value, &i, 1, 1);
      shmem_quiet();
    } else {
      load_value(&value);
      if (value != i) printf("wrong\n");
      store_value(&value, -1);
    }
    shmem_int_atomic_inc(&turn, 0);
  }
  shmem_barrier_all();
}

/* What a context or team completes when it goes. */
static void by_ends(int me) {
  shmem_ctx_t context;
  const int one = 1;
  shmem_ctx_create(0, &context);
  if (me == 0) shmem_ctx_int_put(context, &value, &one, 1, 1);
  shmem_ctx_destroy(context);
  shmem_barrier_all();
  if (me == 1) load_value(&value);
  int *block = shmem_malloc(sizeof *block);
  if (me == 0) shmem_int_put(&value, &one, 1, 1);
  shmem_free(block);
  if (me == 1) load_value(&value);
  shmem_barrier_all();
}

/* A handler knows what the sender knew, and who has waited for all handlers what they have done. */
static void take(void *payload, size_t length, void *args_r, void *args_p, int source) {
  load_value(&value);
  if (value != 1) printf("wrong\n");
  store_value(&value, 0);
}
static void by_active_messages(int me) {
  const int one = 1;
  int id;
  shmemx_am_set_handler_all(take, NULL, &id);
  for (int i = 0; i < rounds; ++i) {
    if (me == 0) {
      shmem_int_put(&value, &one, 1, 1);
      shmem_quiet();
      shmemx_am_send_nbi(id, NULL, 0, 1);
      shmemx_am_quiet(NULL);
    } else {
      shmemx_am_wait(NULL);
    }
  }
  shmem_barrier_all();
}

int main(void) {
  shmem_init();
  const int me = shmem_my_pe();
  by_tests(me);
  by_updates(me);
  by_ends(me);
  by_active_messages(me);
  shmem_finalize();
  return sum == 0x7fffffff;
}
