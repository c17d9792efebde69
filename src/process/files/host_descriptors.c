/* Calls that make descriptors, and those that close many: what a rank makes is known to be its own (process/files/descriptors.h). Others
   that do stand in the files of what they are about: open(), dup(), fcntl(), accept(), recvmsg(). */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE /* Its own definitions would stand in the way. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <mqueue.h>
#include <pty.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "process/files/descriptors.h"
#include "process/files/host_locks.h"
#include "process/life/c_library.h"
#include "process/life/caller.h"

/* All of them have one bit for it. */
_Static_assert(SOCK_CLOEXEC == O_CLOEXEC && EPOLL_CLOEXEC == O_CLOEXEC && EFD_CLOEXEC == O_CLOEXEC && TFD_CLOEXEC == O_CLOEXEC &&
                   SFD_CLOEXEC == O_CLOEXEC && IN_CLOEXEC == O_CLOEXEC,
               "the flags of calls that make descriptors");
#define FROM const void* const from = __builtin_return_address(0)
#define AT_FIRST(flags) ((flags) | weft_closed_at_first(from))
#define MADE(call, flags) weft_made_descriptor(from, call, (flags) & O_CLOEXEC)

/* --- Two at once ---------------------------------------------------------------------------------------------------- */

static int made_two(const void* from, int failed, const int ends[2], int flags) {
  for (int i = 0; i < 2 && failed == 0; ++i) MADE(ends[i], flags);
  return failed;
}
int pipe2(int ends[2], int flags) {
  NEXT(pipe2);
  FROM;
  return made_two(from, next(ends, AT_FIRST(flags)), ends, flags);
}
int pipe(int ends[2]) {
  NEXT(pipe2);
  FROM;
  return made_two(from, next(ends, AT_FIRST(0)), ends, 0);
}
int socketpair(int family, int type, int protocol, int ends[2]) {
  NEXT(socketpair);
  FROM;
  return made_two(from, next(family, AT_FIRST(type), protocol, ends), ends, type);
}
int openpty(int* terminal, int* other, char* name, const struct termios* settings, const struct winsize* size) {
  NEXT(openpty);
  FROM;
  const int failed = next(terminal, other, name, settings, size), ends[] = {*terminal, *other};
  return made_two(from, failed, ends, 0);
}

/* --- One -------------------------------------------------------------------------------------------------------------- */

int socket(int family, int type, int protocol) {
  NEXT(socket);
  FROM;
  return MADE(next(family, AT_FIRST(type), protocol), type);
}
int epoll_create1(int flags) {
  NEXT(epoll_create1);
  FROM;
  return MADE(next(AT_FIRST(flags)), flags);
}
int epoll_create(int size) {
  NEXT(epoll_create1);
  FROM;
  if (size <= 0) return errno = EINVAL, -1;
  return MADE(next(AT_FIRST(0)), 0);
}
int eventfd(unsigned count, int flags) {
  NEXT(eventfd);
  FROM;
  return MADE(next(count, AT_FIRST(flags)), flags);
}
int timerfd_create(clockid_t clock, int flags) {
  NEXT(timerfd_create);
  FROM;
  return MADE(next(clock, AT_FIRST(flags)), flags);
}
int inotify_init1(int flags) {
  NEXT(inotify_init1);
  FROM;
  return MADE(next(AT_FIRST(flags)), flags);
}
int inotify_init(void) {
  NEXT(inotify_init1);
  FROM;
  return MADE(next(AT_FIRST(0)), 0);
}
int signalfd(int descriptor, const sigset_t* set, int flags) {
  NEXT(signalfd);
  FROM;
  return descriptor >= 0 ? next(descriptor, set, flags) : MADE(next(descriptor, set, AT_FIRST(flags)), flags);
}
int memfd_create(const char* name, unsigned flags) {
  NEXT(memfd_create);
  FROM;
  return weft_made_descriptor(from, next(name, flags | (weft_closed_at_first(from) ? MFD_CLOEXEC : 0)),
                              (flags & MFD_CLOEXEC) != 0);
}
int pidfd_open(pid_t number, unsigned flags) {
  FROM;
  return MADE((int)syscall(SYS_pidfd_open, number, flags), O_CLOEXEC);
}
int posix_openpt(int flags) {
  NEXT(posix_openpt);
  FROM;
  return MADE(next(AT_FIRST(flags)), flags);
}
int getpt(void) {
  NEXT(posix_openpt);
  FROM;
  return MADE(next(AT_FIRST(O_RDWR)), 0);
}
/* The C library opens these so that they are closed in programs that are started. */
int shm_open(const char* name, int flags, mode_t mode) {
  NEXT(shm_open);
  FROM;
  return MADE(next(name, flags, mode), O_CLOEXEC);
}
mqd_t mq_open(const char* name, int flags, ...) {
  NEXT(mq_open);
  FROM;
  va_list words;
  va_start(words, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(words, mode_t) : 0;
  struct mq_attr* const attributes = (flags & O_CREAT) != 0 ? va_arg(words, struct mq_attr*) : NULL;
  va_end(words);
  return MADE(next(name, flags, mode, attributes), O_CLOEXEC);
}

/* --- Files with names that are made up -------------------------------------------------------------------------------- */

static int make_file(const void* from, char* pattern, int behind, int flags) {
  NEXT(mkostemps);
  return MADE(next(pattern, behind, AT_FIRST(flags)), flags);
}
int mkstemp(char* pattern) { return make_file(__builtin_return_address(0), pattern, 0, 0); }
int mkostemp(char* pattern, int flags) { return make_file(__builtin_return_address(0), pattern, 0, flags); }
int mkstemps(char* pattern, int behind) { return make_file(__builtin_return_address(0), pattern, behind, 0); }
int mkostemps(char* pattern, int behind, int flags) {
  return make_file(__builtin_return_address(0), pattern, behind, flags);
}
int mkstemp64(char* pattern) __attribute__((alias("mkstemp")));
int mkostemp64(char* pattern, int flags) __attribute__((alias("mkostemp")));
int mkstemps64(char* pattern, int behind) __attribute__((alias("mkstemps")));
int mkostemps64(char* pattern, int behind, int flags) __attribute__((alias("mkostemps")));

FILE* tmpfile(void) {
  NEXT(tmpfile);
  FROM;
  FILE* const made = next();
  if (made != NULL) MADE(fileno(made), 0);
  return made;
}
FILE* tmpfile64(void) __attribute__((alias("tmpfile")));

/* --- Closing ------------------------------------------------------------------------------------------------------------ */

int closedir(DIR* directory) {
  NEXT(closedir);
  weft_note_closed(dirfd(directory));
  return next(directory);
}

/* A rank's own alone: weft has some, and others have theirs. */
int close_range(unsigned first, unsigned last, int flags) {
  if (weft_number() < 0) return (int)syscall(SYS_close_range, first, last, flags);
  if (first > last || (flags & ~(int)(CLOSE_RANGE_CLOEXEC | CLOSE_RANGE_UNSHARE)) != 0) return errno = EINVAL, -1;
  return weft_close_own_descriptors(first, last, flags, weft_drop_own_locks);
}
void closefrom(int first) {
  NEXT(closefrom);
  if (weft_number() < 0)
    next(first);
  else
    weft_close_own_descriptors(first > 0 ? (unsigned)first : 0, ~0U, 0, weft_drop_own_locks);
}
