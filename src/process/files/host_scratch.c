/* Files that a program names by its process's number. Ranks have it that have got no number of their own
   (process/signals/own_number.h): two of them that create one such file, or empty it, meant two. They are told. */
#define _GNU_SOURCE
#include "process/files/host_scratch.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/life/shared_state.h"
#include "process/life/caller.h"

struct made {
  dev_t device;
  ino_t file;
  int rank;
};
enum { looked_at_max = 4096 }; /* The newest ones are kept. */
static struct made all[looked_at_max];
static unsigned count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int is_named_by_process(const char* path) {
  char number[16];
  snprintf(number, sizeof number, "%d", (int)getpid());
  const size_t length = strlen(number);
  for (const char* at = strstr(path, number); at != NULL; at = strstr(at + 1, number)) {
    const int begins = at == path || at[-1] < '0' || at[-1] > '9', ends = at[length] < '0' || at[length] > '9';
    if (begins && ends) return strncmp(path, "/proc/", 6) != 0;
  }
  return 0;
}

void weft_note_made(int descriptor, const char* path) {
  const int rank = descriptor >= 0 && path != NULL && is_named_by_process(path) ? weft_number() : -1;
  const int saved = errno;
  struct stat found;
  if (rank < 0 || fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode)) {
    errno = saved;
    return;
  }
  int other = -1;
  pthread_mutex_lock(&lock);
  for (unsigned i = 0; i < count && i < looked_at_max; ++i)
    if (all[i].file == found.st_ino && all[i].device == found.st_dev) other = all[i].rank;
  if (other < 0) all[count++ % looked_at_max] = (struct made){found.st_dev, found.st_ino, rank};
  pthread_mutex_unlock(&lock);
  if (other >= 0 && other != rank) weft_tells_of_same_file(path, other);
  errno = saved;
}
