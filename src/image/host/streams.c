/* What a stream of the C library reads from a pipe, say, it reads below read(): where that would keep other ranks waiting, they run
   until there is something to read. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE /* Its own definitions would stand in the way. */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "program/moved_calls.h"

#define NEXT(function)             \
  static __typeof__(&function) next; \
  if (next == NULL) next = (__extension__(__typeof__(&function)) dlsym(RTLD_NEXT, #function))

/* Until a read of it does not wait, where the stream has nothing left. */
static void await(const void* from, FILE* stream) {
  if (stream->_IO_read_ptr < stream->_IO_read_end || !weft_may_move(from)) return;
  const int saved = errno;
  struct pollfd end = {fileno(stream), POLLIN, 0};
  if (end.fd >= 0 && weft_can_wait(end.fd) && poll(&end, 1, 0) == 0) {
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
