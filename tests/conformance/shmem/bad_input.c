/* What wrong programs are told: one line, with PE, call, argument and remedy. The expression that it matches stands
   behind each case. */
#include <shmemx.h>
#include <weft/loop.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long word;
static int is(const char* name, const char* wanted) { return strcmp(name, wanted) == 0; }
static void calls_back(void* payload, size_t length, void* r, void* p, int source) {
  (void)payload, (void)length, (void)r, (void)p, (void)source;
  shmem_barrier_all();
}

static void takes_memory(void* payload, size_t length, void* r, void* p, int source) {
  (void)payload, (void)length, (void)r, (void)p, (void)source;
  (void)shmem_malloc(8);
}

static void puts_in_chunk(size_t begin, size_t end, void* of) {
  (void)begin, (void)end, (void)of;
  shmem_long_p(&word, 1, 0);
}

int main(int argc, char** argv) {
  const char* const name = argc > 1 ? argv[1] : "";
  long local = 0;
  int id = 0;
  if (is(name, "before")) shmem_barrier_all(); /* case: shmem_barrier_all: OpenSHMEM is not initialised yet: call shmem_init */
  if (is(name, "flood") || is(name, "orphan")) setenv("SHMEMX_AM_QUEUE_SIZE", "256K", 1);
  shmem_init();
  const int me = shmem_my_pe();
  if (is(name, "after")) { /* case: shmem_my_pe: OpenSHMEM has been finalised */
    shmem_finalize();
    (void)shmem_my_pe();
  }
  if (me == 0) {
    if (is(name, "stack")) shmem_long_put(&local, &word, 1, 1); /* case: rank 0: shmem_long_put: dest 0x[0-9a-f]+ is not symmetric: pass */
    if (is(name, "null")) shmem_long_p(NULL, 1, 1); /* case: shmem_long_p: dest is a null pointer */
    if (is(name, "null_source")) shmem_long_put(&word, NULL, 1, 1); /* case: shmem_long_put: source is a null pointer: pass */
    if (is(name, "null_dest")) shmem_long_get(NULL, &word, 1, 1); /* case: shmem_long_get: dest is a null pointer: pass */
    if (is(name, "null_later")) shmem_long_get_nbi(NULL, &word, 1, 1); /* case: shmem_long_get_nbi: dest is a null pointer: pass */
    if (is(name, "null_word")) shmem_long_wait_until(NULL, SHMEM_CMP_EQ, 1); /* case: shmem_long_wait_until: ivar is a null pointer: pass */
    if (is(name, "null_fetch")) shmem_long_atomic_fetch_add_nbi(NULL, &word, 1, 1); /* case: shmem_long_atomic_fetch_add_nbi: fetch is a null pointer: pass */
    if (is(name, "null_indices")) (void)shmem_long_wait_until_some(&word, 1, NULL, NULL, SHMEM_CMP_EQ, 0); /* case: shmem_long_wait_until_some: indices is a null pointer: pass */
    if (is(name, "null_context")) shmem_ctx_create(0, NULL); /* case: shmem_ctx_create: ctx is a null pointer: pass */
    if (is(name, "pe")) shmem_long_p(&word, 1, 1000); /* case: shmem_long_p: pe 1000: there are [0-9]+ PEs, which are 0 to */
    if (is(name, "atomic_pe")) shmem_long_atomic_inc(&word, -1); /* case: shmem_long_atomic_inc: pe -1: there are */
    if (is(name, "end")) shmem_getmem(&local, shmem_ptr(&word, 0), (size_t)1 << 40, 0); /* case: shmem_getmem: source .* goes beyond the end */
    if (is(name, "context")) { /* case: shmem_ctx_long_p: ctx 0x[0-9a-f]+ is no context of this PE, or has been destroyed */
      shmem_ctx_t ctx;
      shmem_ctx_create(0, &ctx);
      shmem_ctx_destroy(ctx);
      shmem_ctx_long_p(ctx, &word, 1, 0);
    }
    if (is(name, "comparison")) shmem_long_wait_until(&word, 77, 1); /* case: shmem_long_wait_until: cmp is 77: pass SHMEM_CMP_EQ */
    if (is(name, "payload")) shmemx_am_send_nbi(1, &local, 40000, 0); /* case: shmemx_am_send_nbi: length 40000: a payload may have 32768 bytes .*SHMEMX_AM_PAYLOAD_MAX */
    if (is(name, "id")) { /* case: shmemx_am_poll: PE 0 sent a message with id 9, under which this PE has no handler */
      shmemx_am_send_nbi(9, &local, 8, 0);
      for (;;) shmemx_am_poll(NULL);
    }
    if (is(name, "handler")) { /* case: shmem_barrier_all: called in a handler of an active message */
      shmemx_am_set_handler(calls_back, NULL, &id);
      shmemx_am_send_nbi(id, &local, 8, 0);
      shmemx_am_wait(NULL);
    }
    if (is(name, "chunk")) weft_parallel_for(0, 100, puts_in_chunk, NULL); /* case: shmem_long_p: the caller is no PE: a chunk of a loop, a task, or code */
    if (is(name, "unlocked")) shmem_clear_lock(&word); /* case: shmem_clear_lock: lock .* is not set */
    if (is(name, "hang")) shmem_long_wait_until(&word, SHMEM_CMP_EQ, 3); /* case: rank 0: in shmem_long_wait_until, until word is == 3. it is 0 */
    if (is(name, "held")) shmem_set_lock(&word); /* case: rank 1: in shmem_set_lock of word, which PE 0 holds */
    if (is(name, "flood")) while (1) shmemx_am_send_nbi(1, &local, 8, 1); /* case: rank 0: in shmemx_am_send_nbi, until PE 1 reads some of (its|the) [0-9]+ [KM]iB .*SHMEMX_AM_QUEUE_SIZE */
  }
  if (is(name, "orphan")) { /* With --on-failure error: the reader dies while the sender waits for room. */
    if (me == 0) while (1) shmemx_am_send_nbi(1, &local, 8, 1);
    usleep(500000);
    raise(SIGKILL);
  }
  if (is(name, "written")) { /* With --check. */
    if (me == 0) shmem_long_p(&word, 2, 0);
    shmem_barrier_all();
    if (me == 1) shmem_long_p(&word, 1, 0);
    shmem_barrier_all();
    if (me == 1) shmem_long_p(&word, 2, 0);
    if (me == 0) shmem_long_wait_until(&word, SHMEM_CMP_EQ, 3);
  }
  if (is(name, "held") && me != 0) {
    shmem_quiet();
    while (shmem_test_lock(&word) == 0) shmem_clear_lock(&word); /* Until PE 0 has it. */
    shmem_set_lock(&word);
  }
  if (is(name, "meeting")) { /* case: rank 1: shmem_malloc: called in a handler of an active message */
    shmemx_am_set_handler_all(takes_memory, NULL, &id);
    if (me == 0) shmemx_am_send_nbi(id, &local, 8, 1);
    shmemx_am_barrier_all(NULL);
  }
  if (is(name, "unknown")) { /* case: rank 1: shmemx_am_barrier_all: PE 0 sent a message with id 9, under which this PE has no handler */
    if (me == 0) shmemx_am_send_nbi(9, &local, 8, 1);
    shmemx_am_barrier_all(NULL);
  }
  if (is(name, "freed")) { /* case: shmem_free: ptr 0x[0-9a-f]+ is no block of the symmetric heap: it has been freed */
    long* const block = shmem_malloc(8);
    shmem_free(block);
    shmem_free(block);
  }
  if (is(name, "not_heap")) shmem_free(&word); /* case: shmem_free: ptr 0x[0-9a-f]+ is no address that shmem_malloc */
  if (is(name, "alignment")) (void)shmem_align(24, 8); /* case: shmem_align: alignment 24: pass a power of two */
  if (is(name, "alignment_max")) (void)shmem_align((size_t)1 << 30, 8); /* case: shmem_align: alignment 1073741824: at most 2097152 is possible */
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
