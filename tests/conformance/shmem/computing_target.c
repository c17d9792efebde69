/* A target that computes, and calls nothing meanwhile: what others do to its memory ends all the same, and quiet. The last
   PE computes until PE 0 has told it that all has ended, or for so long that this is wrong. A PE in each process. What it has
   sent before comes, too. */
#include "conform.h"

#include <shmemx.h>

#include <time.h>

enum { words = 4096, stores = 1000, messages = 10, seconds_max = 60 };

static long word, block[words], own[words], got[words];
static volatile long go;

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void use_memory_of(int target, long* heap) {
  for (int i = 0; i < words; ++i) own[i] = 7 * i;
  for (long i = 1; i <= stores; ++i) shmem_long_p(&word, i, target);
  shmem_quiet();
  EXPECT(shmem_long_g(&word, target) == stores);
  EXPECT(shmem_long_atomic_fetch_add(&word, 1, target) == stores);
  shmem_long_put(heap, own, words, target);
  shmem_quiet();
  shmem_long_get(got, heap, words, target);
  for (int i = 0; i < words; ++i) EXPECT(got[i] == 7 * i);
  shmem_long_get(got, block, words, target);
  for (int i = 0; i < words; ++i) EXPECT(got[i] == 3 * i);
  shmem_long_p((long*)&go, 1, target);
  shmem_quiet();
}

static int heard;
static void hear(void* payload, size_t length, void* args_r, void* args_p, int source) {
  (void)length, (void)args_r, (void)args_p, (void)source;
  EXPECT(*(const int*)payload == heard++);
}

int main(void) {
  begin();
  int id;
  shmemx_am_set_handler_all(hear, NULL, &id);
  const int target = pes - 1;
  long* const heap = shmem_calloc(words, sizeof *heap);
  for (int i = 0; i < words; ++i) block[i] = 3 * i;
  shmem_barrier_all();
  if (me == target) {
    for (int i = 0; i < messages; ++i) shmemx_am_send_nbi(id, &i, sizeof i, 0);
    const double end = seconds() + seconds_max;
    while (go == 0 && seconds() < end) continue;
    EXPECT(go == 1);
    EXPECT(word == stores + 1);
  } else if (me == 0) {
    while (heard < messages) shmemx_am_wait(NULL);
    use_memory_of(target, heap);
  }
  shmem_barrier_all();
  shmem_free(heap);
  return end();
}
