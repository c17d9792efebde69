/* Globals as symmetric memory: with a value and without, large ones, those of a library; and children that a PE forks,
   which have their own. */
#include "conform.h"

#include <sys/wait.h>
#include <unistd.h>

enum { large_bytes = 3 << 20 };

extern long library_words[600];
long* library_place(void);

static long word = 41, zero, order = 1;
static char large[large_bytes];
static const char* const names[] = {"first", "second"}; /* The loader writes it, nobody else. */
static long before_init;

static void exchange(void) {
  for (int i = 0; i < 100; ++i) {
    shmem_long_atomic_inc(&zero, 0);
    shmem_long_atomic_add(&library_words[0], 2, NEXT);
  }
  shmem_long_p(&word, me, NEXT);
  shmem_char_put(large + 5, large + large_bytes / 2, large_bytes / 4, NEXT);
  shmem_barrier_all();
  EXPECT(me != 0 || zero == 100l * pes);
  EXPECT(library_words[0] == 5 + 200 && shmem_long_g(library_place(), NEXT) == 6);
  EXPECT(word == LAST && shmem_long_g(&word, NEXT) == me);
  int same = 1;
  for (int i = 0; i < large_bytes / 4; ++i) same = same && large[5 + i] == (char)(i * 3 + LAST);
  EXPECT(same && large[4] == 0 && large[5 + large_bytes / 4] == 0);
  EXPECT(shmem_long_atomic_swap(&order, 7 + me, NEXT) == 1);
  const char* name = NULL;
  shmem_getmem(&name, &names[1], sizeof name, NEXT);
  EXPECT(name != NULL);
}

/* What reaches the heap of a PE reaches its globals. */
static void look_at_places(long* heap) {
  for (int pe = 0; pe < pes; ++pe)
    EXPECT((shmem_ptr(heap, pe) == NULL) == (shmem_ptr(&word, pe) == NULL) &&
           (shmem_ptr(heap, pe) == NULL) == (shmem_ptr(library_place(), pe) == NULL));
}

/* A child sees what was there when it began, and what it writes is its own; its parent goes on to be written by others. */
static void fork_one(void) {
  const long was = word;
  shmem_barrier_all();
  const pid_t child = fork();
  if (child == 0) {
    const int saw = word == was && large[5] == (char)LAST && library_words[2] == 7;
    word = -1, zero = -1, library_words[2] = -1;
    memset(large, -1, sizeof large);
    _exit(saw ? 3 : 4);
  }
  int status = 0;
  EXPECT(child > 0 && waitpid(child, &status, 0) == child);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 3);
  EXPECT(word == was && large[5] == (char)LAST && large[large_bytes - 1] == 0 && library_words[2] == 7);
  shmem_barrier_all();
  shmem_long_p(&word, 1000 + me, NEXT);
  shmem_long_p(&library_words[2], 2000 + me, NEXT);
  shmem_barrier_all();
  EXPECT(word == 1000 + LAST && library_words[2] == 2000 + LAST);
}

int main(void) {
  before_init = 17;
  library_words[599] = 18;
  begin();
  EXPECT(word == 41 && zero == 0 && before_init == 17 && library_words[1] == 6 && library_words[599] == 18);
  for (int i = 0; i < large_bytes / 4; ++i) large[large_bytes / 2 + i] = (char)(i * 3 + me);
  long* const heap = shmem_malloc(8);
  shmem_barrier_all();
  exchange();
  shmem_barrier_all();
  memset(large + large_bytes / 2, 0, large_bytes / 4);
  fork_one();
  look_at_places(heap);
  shmem_free(heap);
  return end();
}
