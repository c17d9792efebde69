/* Streams of the C library read and write below read() and write(). One that a rank opens on a pipe, a socket or a terminal reads and
   writes by what it is given instead: where that would wait, the rank does, and others of its worker run (blocking.c). Such a stream
   takes bytes alone. It is in no list of the C library's, whose fflush(NULL) would wait for the rank: a rank flushes its own.

   Of the other streams standard input is one that waits, too: others run until there is something to read. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE /* Its own definitions would stand in the way. */
#include "process/files/host_streams.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/blocking/moved_calls.h"
#include "process/files/descriptors.h"
#include "process/life/c_library.h"
#include "process/life/caller.h"

/* --- Streams that wait -------------------------------------------------------------------------------------------- */

struct waiting_stream {
  struct waiting_stream* next;
  FILE* file;
  int descriptor;
  int rank;
  const void* from; /* The program's code that has opened it. */
};
static struct waiting_stream* streams;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* Never held across a wait. */

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }

static ssize_t read_some(void* stream, char* to, size_t room) {
  const struct waiting_stream* const one = stream;
  return weft_read_for(one->from, one->descriptor, to, room);
}
/* It writes all: the C library takes less for an error. */
static ssize_t write_all(void* stream, const char* bytes, size_t size) {
  const struct waiting_stream* const one = stream;
  size_t done = 0;
  while (done < size) {
    const ssize_t put = weft_may_move(one->from) ? weft_write_moved(one->descriptor, bytes + done, size - done)
                                                 : write(one->descriptor, bytes + done, size - done);
    if (put <= 0) break;
    done += (size_t)put;
  }
  return (ssize_t)done;
}
static int seek_to(void* stream, off64_t* place, int from) {
  const off64_t now = lseek64(((struct waiting_stream*)stream)->descriptor, *place, from);
  if (now >= 0) *place = now;
  return now >= 0 ? 0 : -1;
}
static struct waiting_stream* taken_out(const FILE* file) {
  pthread_mutex_lock(&lock);
  struct waiting_stream** at = &streams;
  while (*at != NULL && (*at)->file != file) at = &(*at)->next;
  struct waiting_stream* const one = *at;
  if (one != NULL) *at = one->next;
  pthread_mutex_unlock(&lock);
  return one;
}
static int close_stream(void* stream) {
  struct waiting_stream* const one = stream;
  const int descriptor = one->descriptor;
  free(taken_out(one->file));
  weft_note_closed(descriptor);
  return (int)syscall(SYS_close, descriptor);
}

/* Out of the C library's list of streams. */
typedef void link_call(FILE*);
static link_call* un_link;

static FILE* open_waiting(const void* from, int descriptor, const char* mode) {
  static const cookie_io_functions_t calls = {read_some, write_all, seek_to, close_stream};
  static int watches_forks;
  const int may = fcntl(descriptor, F_GETFL) & O_ACCMODE, both = strchr(mode, '+') != NULL;
  if ((may == O_WRONLY && (mode[0] == 'r' || both)) || (may == O_RDONLY && (mode[0] != 'r' || both))) return errno = EINVAL, NULL;
  struct waiting_stream* const one = malloc(sizeof *one);
  if (one == NULL) return NULL;
  *one = (struct waiting_stream){NULL, fopencookie(one, mode, calls), descriptor, weft_number(), from};
  if (one->file == NULL) {
    free(one);
    return NULL;
  }
  one->file->_fileno = descriptor;
  if (isatty(descriptor)) setvbuf(one->file, NULL, _IOLBF, 0);
  pthread_mutex_lock(&lock);
  if (!watches_forks) {
    watches_forks = pthread_atfork(before_fork, after_fork, after_fork) == 0;
    un_link = (__extension__(link_call*)dlsym(RTLD_DEFAULT, "_IO_un_link"));
  }
  one->next = streams;
  streams = one;
  pthread_mutex_unlock(&lock);
  if (un_link != NULL) un_link(one->file);
  return one->file;
}

FILE* weft_fdopen_for(const void* from, int descriptor, const char* mode) {
  NEXT(fdopen);
  const int is_ranks = descriptor > STDERR_FILENO && weft_number() >= 0 && weft_is_ranks_code(from);
  if (!is_ranks || strchr("rwa", mode[0]) == NULL || !weft_can_wait(descriptor)) return next(descriptor, mode);
  if (strchr(mode, 'e') != NULL) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return open_waiting(from, descriptor, mode);
}
FILE* fdopen(int descriptor, const char* mode) { return weft_fdopen_for(__builtin_return_address(0), descriptor, mode); }

/* The C library's would crash. The stream reads and writes what its descriptor leads to now. */
static FILE* reopen_waiting(const void* from, const struct waiting_stream* one, const char* path, const char* mode) {
  enum { no_reads = 4, no_writes = 8 }; /* Bits of the stream's flags. */
  FILE* const file = one->file;
  const int flags = weft_flags_of_mode(mode);
  fflush(file);
  if (path != NULL) {
    const int made = flags < 0 ? -1 : open(path, flags | O_CLOEXEC, 0666);
    if (made < 0 || syscall(SYS_dup3, made, one->descriptor, flags & O_CLOEXEC) < 0) {
      const int error = flags < 0 ? EINVAL : errno;
      if (made >= 0) close(made);
      fclose(file);
      errno = error;
      return NULL;
    }
    close(made);
    weft_made_descriptor(from, one->descriptor, flags & O_CLOEXEC);
  }
  __fpurge(file);
  clearerr(file);
  file->_flags &= ~(no_reads | no_writes);
  if ((flags & O_ACCMODE) == O_RDONLY) file->_flags |= no_writes;
  if ((flags & O_ACCMODE) == O_WRONLY) file->_flags |= no_reads;
  return file;
}
static struct waiting_stream* find(const FILE* file) {
  pthread_mutex_lock(&lock);
  struct waiting_stream* one = streams;
  while (one != NULL && one->file != file) one = one->next;
  pthread_mutex_unlock(&lock);
  return one;
}
FILE* freopen(const char* restrict path, const char* restrict mode, FILE* restrict file) {
  NEXT(freopen);
  const struct waiting_stream* const one = find(file);
  return one != NULL ? reopen_waiting(__builtin_return_address(0), one, path, mode) : next(path, mode, file);
}
FILE* freopen64(const char* restrict path, const char* restrict mode, FILE* restrict file) {
  NEXT(freopen64);
  const struct waiting_stream* const one = find(file);
  return one != NULL ? reopen_waiting(__builtin_return_address(0), one, path, mode) : next(path, mode, file);
}

/* --- Those of one rank -------------------------------------------------------------------------------------------- */

/* Whether this process is a child that a rank has forked. */
static int is_child;

/* What another thread reads or writes now is its to flush. */
static int flush_if_free(FILE* file) {
  if (ftrylockfile(file) != 0) return 0;
  const int failed = fflush_unlocked(file);
  funlockfile(file);
  return failed;
}

/* One after the other: each may wait. */
static int flush_of(int rank, int (*flush)(FILE*)) {
  int failed = 0, count = 0;
  pthread_mutex_lock(&lock);
  for (const struct waiting_stream* one = streams; one != NULL; one = one->next) count += one->rank == rank;
  FILE* all[count + 1];
  count = 0;
  for (const struct waiting_stream* one = streams; one != NULL; one = one->next)
    if (one->rank == rank) all[count++] = one->file;
  pthread_mutex_unlock(&lock);
  while (count > 0) failed |= flush(all[--count]);
  return failed;
}
int fflush(FILE* file) {
  NEXT(fflush);
  if (file != NULL) return next(file);
  const int rank = weft_number();
  int failed = next(NULL);
  if (rank >= 0) failed |= flush_of(rank, next);
  for (const struct waiting_stream* one = is_child ? streams : NULL; one != NULL; one = one->next) failed |= flush_if_free(one->file);
  return failed;
}

void weft_flush_streams(void) {
  const int rank = weft_number();
  if (rank >= 0) flush_of(rank, flush_if_free);
}
/* A child that a rank has forked has no streams of others, whose descriptors it does not have. A thread that it does not have may hold the
   lock of one. */
void weft_keep_streams_of(int rank) {
  is_child = 1;
  for (struct waiting_stream** at = &streams; *at != NULL;) {
    if ((*at)->rank != rank) {
      *at = (*at)->next;
      continue;
    }
    __fsetlocking((*at)->file, FSETLOCKING_BYCALLER);
    at = &(*at)->next;
  }
}

/* Writes what a process that ends has not written. */
static __attribute__((destructor)) void flush_rest(void) {
  pthread_mutex_lock(&lock);
  struct waiting_stream* const all = streams;
  pthread_mutex_unlock(&lock);
  for (const struct waiting_stream* one = all; one != NULL; one = one->next)
    if (fcntl(one->descriptor, F_GETFD) >= 0) flush_if_free(one->file);
}

/* --- Standard input ------------------------------------------------------------------------------------------------ */

/* Waits until a read of it does not wait, where the stream has nothing left. */
static void await(const void* from, FILE* stream) {
  if (stream->_IO_read_ptr < stream->_IO_read_end || fileno_unlocked(stream) != STDIN_FILENO || !weft_may_move(from)) return;
  const int saved = errno;
  struct pollfd end = {STDIN_FILENO, POLLIN, 0};
  if (weft_can_wait(end.fd) && poll(&end, 1, 0) == 0) {
    const struct weft_moved_call call = {"read", end.fd, weft_call_restarts, SYS_ppoll, {(long)&end, 1, 0, 0, _NSIG / 8}};
    weft_move(&call);
  }
  errno = saved;
}
#define AWAIT(stream) await(__builtin_return_address(0), stream)

#undef getc
#undef fgetc
int fgetc(FILE* stream) {
  NEXT(fgetc);
  AWAIT(stream);
  return next(stream);
}
int getc(FILE* stream) {
  NEXT(getc);
  AWAIT(stream);
  return next(stream);
}
int _IO_getc(FILE* stream) {
  NEXT(getc);
  AWAIT(stream);
  return next(stream);
}
char* fgets(char* restrict to, int room, FILE* restrict stream) {
  NEXT(fgets);
  AWAIT(stream);
  return next(to, room, stream);
}
char* __fgets_chk(char* to, size_t size, int room, FILE* stream) {
  NEXT(fgets);
  if (room > 0 && size < (size_t)room) abort();
  AWAIT(stream);
  return next(to, room, stream);
}
size_t fread(void* restrict to, size_t size, size_t count, FILE* restrict stream) {
  NEXT(fread);
  AWAIT(stream);
  return next(to, size, count, stream);
}
size_t __fread_chk(void* to, size_t room, size_t size, size_t count, FILE* stream) {
  NEXT(fread);
  if (size != 0 && room / size < count) abort();
  AWAIT(stream);
  return next(to, size, count, stream);
}
ssize_t getline(char** restrict to, size_t* restrict room, FILE* restrict stream) {
  NEXT(getline);
  AWAIT(stream);
  return next(to, room, stream);
}
ssize_t getdelim(char** restrict to, size_t* restrict room, int end, FILE* restrict stream) {
  NEXT(getdelim);
  AWAIT(stream);
  return next(to, room, end, stream);
}
ssize_t __getdelim(char** restrict to, size_t* restrict room, int end, FILE* restrict stream) {
  NEXT(getdelim);
  AWAIT(stream);
  return next(to, room, end, stream);
}
int vfscanf(FILE* restrict stream, const char* restrict format, va_list values) {
  NEXT(vfscanf);
  AWAIT(stream);
  return next(stream, format, values);
}
