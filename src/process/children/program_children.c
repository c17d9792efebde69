/* Programs that a rank starts see the rank's environment, not the C library's. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/life/c_library.h"
#include "process/life/program_replaces.h"

LINKED_AS(children);

REPLACES int execv(const char* path, char* const* words) { return execve(path, words, environ); }
REPLACES int execvp(const char* file, char* const* words) { return execvpe(file, words, environ); }

/* The words of a list that ends with a null pointer, and what follows it. Called between vfork() and
   the start of another program, too: nothing but the stack may be used. */
#define COUNT_WORDS(first)                                  \
  size_t count = 1;                                         \
  va_list list;                                             \
  va_start(list, first);                                    \
  while (va_arg(list, char*) != NULL) ++count;              \
  va_end(list);                                             \
  char* words[count + 1];                                   \
  words[0] = (char*)first;                                  \
  va_start(list, first);                                    \
  for (size_t i = 1; i <= count; ++i) words[i] = va_arg(list, char*)

REPLACES int execl(const char* path, const char* first, ...) {
  COUNT_WORDS(first);
  va_end(list);
  return execve(path, words, environ);
}
REPLACES int execlp(const char* file, const char* first, ...) {
  COUNT_WORDS(first);
  va_end(list);
  return execvpe(file, words, environ);
}

static int start_shell(pid_t* child, const char* command, const posix_spawn_file_actions_t* files,
                       const posix_spawnattr_t* attributes) {
  char* const words[] = {(char*)"sh", (char*)"-c", (char*)command, NULL};
  return posix_spawn(child, "/bin/sh", files, attributes, words, environ);
}

static int status_of(pid_t child) {
  int status;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return status;
}

REPLACES int system(const char* command) {
  if (command == NULL) return access("/bin/sh", X_OK) == 0;
  pid_t child;
  const int failed = start_shell(&child, command, NULL, NULL);
  if (failed != 0) {
    errno = failed;
    return 127 << 8;
  }
  return status_of(child);
}

/* The children of popen(), by the stream that leads to them. */
struct stream {
  struct stream* next;
  FILE* file;
  pid_t child;
};
static struct stream* _Atomic streams;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t is_watching_forks = PTHREAD_ONCE_INIT;

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }
static void watch_forks(void) { pthread_atfork(before_fork, after_fork, after_fork); }

static FILE* start_with_pipe(struct stream* one, const char* command, int reads, int keep) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return NULL;
  const int mine = ends[reads ? 0 : 1], childs = ends[reads ? 1 : 0];
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  /* The streams of popen() before are closed in it: their children would wait for the end of this one, too. */
  pthread_mutex_lock(&lock);
  for (const struct stream* before = streams; before != NULL; before = before->next)
    posix_spawn_file_actions_addclose(&files, fileno(before->file));
  pthread_mutex_unlock(&lock);
  posix_spawn_file_actions_adddup2(&files, childs, reads ? STDOUT_FILENO : STDIN_FILENO);
  const int failed = start_shell(&one->child, command, &files, NULL);
  posix_spawn_file_actions_destroy(&files);
  close(childs);
  one->file = failed == 0 ? fdopen(mine, reads ? "r" : "w") : NULL;
  if (one->file == NULL) {
    close(mine);
    if (failed != 0) errno = failed;
    return NULL;
  }
  if (keep) fcntl(mine, F_SETFD, 0);
  return one->file;
}

REPLACES FILE* popen(const char* command, const char* mode) {
  const int reads = strchr(mode, 'r') != NULL;
  if (reads == (strchr(mode, 'w') != NULL)) {
    errno = EINVAL;
    return NULL;
  }
  struct stream* const one = malloc(sizeof *one);
  if (one == NULL) return NULL;
  FILE* const file = start_with_pipe(one, command, reads, strchr(mode, 'e') == NULL);
  if (file == NULL) {
    free(one);
    return NULL;
  }
  /* A child finds the lock free. */
  pthread_once(&is_watching_forks, watch_forks);
  pthread_mutex_lock(&lock);
  one->next = streams;
  streams = one;
  pthread_mutex_unlock(&lock);
  return file;
}

static struct stream* taken_out(const FILE* file) {
  /* Relaxed: who has the stream knows of it from its popen(). Without such streams there is no lock to take. */
  if (atomic_load_explicit(&streams, memory_order_relaxed) == NULL) return NULL;
  pthread_mutex_lock(&lock);
  struct stream* before = NULL;
  struct stream* one = streams;
  for (; one != NULL && one->file != file; one = one->next) before = one;
  if (one != NULL && before != NULL)
    before->next = one->next;
  else if (one != NULL)
    streams = one->next;
  pthread_mutex_unlock(&lock);
  return one;
}

/* The function that stands behind this file: the host's, which the process sees first, or the C library's, where this program is the
   only one and the process sees its own first. */
static int close_stream(FILE* file) {
  static __typeof__(&fclose) next;
  if (next == NULL) next = (__extension__(__typeof__(&fclose))dlsym(RTLD_DEFAULT, "fclose"));
  if (next == fclose) next = OF_LIBC(fclose);
  return next(file);
}

static int end_of_stream(struct stream* one) {
  const pid_t child = one->child;
  close_stream(one->file);
  free(one);
  return status_of(child);
}

REPLACES int pclose(FILE* file) {
  struct stream* const one = taken_out(file);
  if (one != NULL) return end_of_stream(one);
  errno = ECHILD;
  return -1;
}
/* It ends a stream of popen(), too, and the C library's waits for the child as pclose() does. */
REPLACES int fclose(FILE* file) {
  struct stream* const one = taken_out(file);
  return one != NULL ? end_of_stream(one) : close_stream(file);
}
