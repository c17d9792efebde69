/* Sessions that gather: messages in order and none lost, whatever their sizes; puts and atomics, which quiet completes; what
   has been gathered goes before a PE waits. */
#include "conform.h"

#include <shmemx.h>

enum { messages = 5000, words = 512, big = 20000 };

static long next_of[64], handled, wrong_order, echoes, big_seen;
static int numbers_id, big_id, echo_id;
static long slots[words], sums[4], flag;
static double real;
static char out[big];

static void on_number(void* payload, size_t length, void* args_r, void* args_p, int source) {
  (void)args_r, (void)args_p;
  long number;
  memcpy(&number, payload, sizeof number);
  EXPECT(length == sizeof number + (size_t)(number % 64));
  for (size_t i = sizeof number; i < length; ++i) EXPECT(((char*)payload)[i] == (char)number);
  wrong_order += next_of[source]++ != number;
  ++handled;
}
static void on_big(void* payload, size_t length, void* args_r, void* args_p, int source) {
  (void)args_r, (void)args_p, (void)source;
  EXPECT(length == big && ((char*)payload)[0] == 1 && ((char*)payload)[big - 1] == 1);
  long number;
  memcpy(&number, (char*)payload + 8, sizeof number);
  wrong_order += next_of[source] != number;  /* As many numbers before it as when it was sent. */
  ++big_seen;
}
/* Sends in the session of which the context is in args_r. */
static void on_echo(void* payload, size_t length, void* args_r, void* args_p, int source) {
  (void)args_p;
  const int left = *(int*)payload - 1;
  EXPECT(length == sizeof left);
  ++echoes;
  if (left > 0) shmemx_ctx_am_send_nbi(*(shmem_ctx_t*)args_r, echo_id, (void*)&left, sizeof left, source);
}

static void in_order(shmem_ctx_t ctx) {
  memset(next_of, 0, sizeof next_of);
  handled = big_seen = wrong_order = 0;
  shmem_barrier_all();
  shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
  memset(out, 1, sizeof out);
  for (long i = 0; i < messages; ++i) {
    char text[80];
    memset(text, (int)i, sizeof text);
    memcpy(text, &i, sizeof i);
    for (int pe = 0; pe < pes; ++pe)
      shmemx_ctx_am_send_nbi(ctx, numbers_id, text, sizeof i + (size_t)(i % 64), pe);
    if (i % 1000 == 999) {
      const long sent = i + 1;
      memcpy(out + 8, &sent, sizeof sent);
      for (int pe = 0; pe < pes; ++pe) shmemx_ctx_am_send_nbi(ctx, big_id, out, big, pe);
      shmem_ctx_quiet(ctx);
      shmemx_am_poll(NULL);
    }
  }
  shmemx_am_barrier_all(NULL);
  shmem_ctx_session_stop(ctx);
  EXPECT(handled == (long)messages * pes && big_seen == 5L * pes && wrong_order == 0);
}

/* Nobody calls quiet: a poll that finds nothing sends, and so does a wait. */
static void without_quiet(shmem_ctx_t ctx, int waits) {
  echoes = 0;
  shmem_barrier_all();
  shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
  int rounds = 200;
  shmemx_ctx_am_send_nbi(ctx, echo_id, &rounds, sizeof rounds, NEXT);
  while (echoes < rounds)
    if (waits)
      shmemx_am_wait(NULL);
    else
      shmemx_am_poll(NULL);
  shmemx_am_barrier_all(NULL);
  EXPECT(echoes == rounds);
  shmem_ctx_session_stop(ctx);
}

static void memory(shmem_ctx_t ctx, long* heap) {
  shmem_barrier_all();
  memset(slots, 0, sizeof slots), memset(sums, 0, sizeof sums), real = 0, flag = 0;
  memset(heap, 0, words * sizeof *heap);
  shmem_barrier_all();
  shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
  for (long i = 0; i < words; ++i) {
    shmem_ctx_long_p(ctx, slots + i, i * (me + 1), NEXT);
    shmem_ctx_long_put(ctx, heap + i, &i, 1, NEXT);
    for (int pe = 0; pe < pes; ++pe) shmem_ctx_long_atomic_add(ctx, sums, i, pe);
  }
  shmem_ctx_long_atomic_inc(ctx, sums + 1, NEXT);
  shmem_ctx_ulong_atomic_or(ctx, (unsigned long*)sums + 2, 0x10, NEXT);
  shmem_ctx_double_atomic_set(ctx, &real, 2.5, NEXT);
  /* Of the same context, after what was gathered. */
  EXPECT(shmem_ctx_long_g(ctx, slots + 7, NEXT) == 7 * (me + 1));
  EXPECT(shmem_ctx_long_atomic_fetch(ctx, sums + 1, NEXT) == 1);
  shmem_ctx_quiet(ctx);
  shmem_barrier_all();
  for (long i = 0; i < words; ++i) EXPECT(slots[i] == i * (LAST + 1) && heap[i] == i);
  EXPECT(sums[0] == (long)pes * words * (words - 1) / 2 && sums[1] == 1 && sums[2] == 0x10 && real == 2.5);
  /* A wait sends what has been gathered. */
  shmem_ctx_long_p(ctx, &flag, 1, NEXT);
  shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
  shmem_ctx_session_stop(ctx);
  shmem_barrier_all();
}

int main(void) {
  begin();
  shmem_ctx_t ctx;
  EXPECT(shmem_ctx_create(0, &ctx) == 0);
  shmem_ctx_t contexts[2] = {SHMEM_CTX_DEFAULT, ctx};
  long* const heap = shmem_malloc(words * sizeof *heap);
  shmemx_am_set_handler_all(on_number, NULL, &numbers_id);
  shmemx_am_set_handler_all(on_big, NULL, &big_id);
  for (int i = 0; i < 2; ++i) {
    in_order(contexts[i]);
    shmemx_am_set_handler_all(on_echo, contexts + i, &echo_id);
    without_quiet(contexts[i], 0);
    without_quiet(contexts[i], 1);
    shmemx_am_set_handler(NULL, NULL, &echo_id);
    memory(contexts[i], heap);
  }
  /* A session that is left open, and its context, end well. */
  shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
  long zero = 0;
  memset(next_of, 0, sizeof next_of);
  shmem_barrier_all();
  shmemx_ctx_am_send_nbi(ctx, numbers_id, &zero, sizeof zero, NEXT);
  shmem_ctx_destroy(ctx);
  shmemx_am_barrier_all(NULL);
  EXPECT(next_of[LAST] == 1);
  shmem_free(heap);
  return end();
}
