/* The symmetric heap: blocks that change their size where they lie, and what the first byte of it costs. */
#include "conform.h"

static long status_kb(const char* name) {
  char line[200];
  long value = -1;
  FILE* const file = fopen("/proc/self/status", "r");
  while (value < 0 && fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, name, strlen(name)) == 0) value = atol(line + strlen(name) + 1);
  fclose(file);
  return value;
}

static int holds(const char* block, size_t size, int seed) {
  for (size_t i = 0; i < size; ++i)
    if (block[i] != (char)(i * 31 + (size_t)seed)) return 0;
  return 1;
}
static void fill(char* block, size_t size, int seed) {
  for (size_t i = 0; i < size; ++i) block[i] = (char)(i * 31 + (size_t)seed);
}

/* In a heap of 1 MiB. */
static void resize(void) {
  enum { kb = 1024 };
  char* block = shmem_malloc(700 * kb);
  char* const first = block;
  EXPECT(block != NULL);
  fill(block, 700 * kb, me);
  block = shmem_realloc(block, 600 * kb);
  EXPECT(block == first && holds(block, 600 * kb, me));
  block = shmem_realloc(block, 1000 * kb); /* What lies behind it is free. */
  EXPECT(block == first && holds(block, 600 * kb, me));
  EXPECT(shmem_realloc(block, 2000 * kb) == NULL && holds(block, 600 * kb, me));
  block = shmem_realloc(block, 60 * kb);
  char* const second = shmem_malloc(400 * kb);
  char* const third = shmem_malloc(500 * kb);
  EXPECT(block == first && second == first + 60 * kb && third == first + 460 * kb);
  fill(second, 400 * kb, 7 * me);
  shmem_free(block);
  /* There is room with its own bytes and those in front of it alone. */
  EXPECT(shmem_realloc(second, 470 * kb) == NULL && holds(second, 400 * kb, 7 * me));
  char* const moved = shmem_realloc(second, 450 * kb);
  EXPECT(moved == first && holds(moved, 400 * kb, 7 * me));
  for (int pe = 0; pe < pes; ++pe) shmem_char_put(moved + 440 * kb + me, moved, 1, pe);
  shmem_barrier_all();
  for (int pe = 0; pe < pes; ++pe) EXPECT(moved[440 * kb + pe] == (char)(7 * pe));
  shmem_free(third);
  shmem_free(moved);
}

/* Of pages, not of large pages. */
static void touch(void) {
  static long before, after;
  long* const block = shmem_malloc(8);
  before = status_kb("VmRSS:");
  shmem_barrier_all();
  *block = me;
  shmem_barrier_all();
  after = status_kb("VmRSS:");
  EXPECT(after - before < 100l * pes);
  shmem_free(block);
}

int main(int argc, char** argv) {
  begin();
  if (argc > 1 && strcmp(argv[1], "resize") == 0)
    resize();
  else
    touch();
  return end();
}
