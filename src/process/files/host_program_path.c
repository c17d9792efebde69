/* The file of the program, for who looks for what lies beside it: the kernel says that of weft-host. The names that it has are
   /proc/self/exe and /proc/NUMBER/exe, with the process's own number. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE /* Its own definitions would stand in the way. */
#include "process/files/host_program_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/blocking/moved_calls.h"
#include "process/files/descriptors.h"
#include "process/files/host_scratch.h"
#include "process/files/host_streams.h"
#include "process/life/c_library.h"
#include "process/signals/own_number.h"
#include "process/signals/signals.h"

static const char* program;

void weft_set_program_path(const char* path) { program = path; }

static int names_executable(const char* path) {
  if (strncmp(path, "/proc/", 6) != 0) return 0;
  path += 6;
  if (strcmp(path, "self/exe") == 0 || strcmp(path, "thread-self/exe") == 0) return 1;
  char* end;
  if (*path < '1' || *path > '9') return 0;
  const pid_t number = (pid_t)strtol(path, &end, 10);
  return strcmp(end, "/exe") == 0 && (number == getpid() || weft_rank_of_number(number) >= 0);
}

/* What stands behind "/proc/self" or "/proc/NUMBER", which is the calling thread's: of the process the kernel tells what its
   first thread has. Null: it is another path. */
static const char* own_directory(const char* path) {
  if (strncmp(path, "/proc/", 6) != 0) return NULL;
  const char* const whose = path + 6;
  char* behind = (char*)whose + 4;
  if (strncmp(whose, "self", 4) != 0) {
    if (*whose < '1' || *whose > '9') return NULL;
    const pid_t number = (pid_t)strtol(whose, &behind, 10);
    if (number != getpid() && !weft_is_own_number(number)) return NULL;
  }
  return strncmp(behind, "/cwd", 4) == 0 && (behind[4] == '/' || behind[4] == 0) ? behind : NULL;
}

const char* weft_program_path(const char* path) {
  if (path == NULL || path[0] != '/' || path[1] != 'p' || program == NULL) return path;
  if (names_executable(path)) return program;
  const char* const behind = own_directory(path);
  if (behind == NULL || strlen(behind) >= PATH_MAX) return path;
  static __thread char of_thread[sizeof "/proc/thread-self" + PATH_MAX];
  stpcpy(stpcpy(of_thread, "/proc/thread-self"), behind);
  return of_thread;
}

#define OWN(path) const char* const own = weft_program_path(path)
/* --- What the link says ---------------------------------------------------------------------------------------- */

static ssize_t say_program(char* to, size_t room) {
  const size_t length = strlen(program);
  if (room == 0) {
    errno = EINVAL;
    return -1;
  }
  memcpy(to, program, length < room ? length : room);
  return (ssize_t)(length < room ? length : room);
}

ssize_t readlink(const char* restrict path, char* restrict to, size_t room) {
  NEXT(readlink);
  OWN(path);
  return own == program && own != path ? say_program(to, room) : next(own, to, room);
}
ssize_t readlinkat(int directory, const char* restrict path, char* restrict to, size_t room) {
  NEXT(readlinkat);
  OWN(path);
  return own == program && own != path ? say_program(to, room) : next(directory, own, to, room);
}
ssize_t __readlink_chk(const char* path, char* to, size_t room, size_t size) {
  if (size < room) abort();
  return readlink(path, to, room);
}
ssize_t __readlinkat_chk(int directory, const char* path, char* to, size_t room, size_t size) {
  if (size < room) abort();
  return readlinkat(directory, path, to, room);
}

char* realpath(const char* restrict path, char* restrict resolved) {
  NEXT(realpath);
  OWN(path);
  return next(own, resolved);
}
char* __realpath_chk(const char* path, char* resolved, size_t size) {
  if (size < PATH_MAX) abort();
  return realpath(path, resolved);
}
char* canonicalize_file_name(const char* path) { return realpath(path, NULL); }

unsigned long __getauxval(unsigned long type); /* The C library's own name of it: no lookup, this may be called early. */
unsigned long getauxval(unsigned long type) {
  return type == AT_EXECFN && program != NULL ? (unsigned long)program : __getauxval(type);
}

/* --- What the file says ------------------------------------------------------------------------------------------- */

#define MODE_OF(flags)                                           \
  mode_t mode = 0;                                               \
  if (((flags) & O_CREAT) != 0 || ((flags) & O_TMPFILE) == O_TMPFILE) { \
    va_list words;                                               \
    va_start(words, flags);                                      \
    mode = va_arg(words, mode_t);                                \
    va_end(words);                                               \
  }

/* The other end of a pipe with a name is awaited on a blocking thread, where others would wait too. Not of the program's file.
   `is_file`: it is a regular one, which never waits. */
static int waits_for_other_end(const void* from, int directory, const char* path, int flags, int* is_file) {
  *is_file = 0;
  const int makes = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
  if (makes || (flags & (O_NONBLOCK | O_PATH | O_DIRECTORY)) != 0 || (flags & O_ACCMODE) == O_RDWR || !weft_may_move(from)) return 0;
  const int saved = errno;
  struct stat found;
  const int exists = fstatat(directory, path, &found, 0) == 0;
  errno = saved;
  *is_file = exists && S_ISREG(found.st_mode);
  return exists && S_ISFIFO(found.st_mode);
}
static int open_other_end(const void* from, int directory, const char* path, int flags, mode_t mode) {
  const int made = flags | weft_closed_at_first(from);
  for (;;) {
    const int here = directory == AT_FDCWD ? (int)syscall(SYS_openat, AT_FDCWD, ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0)
                                           : directory; /* The blocking thread is elsewhere. */
    const struct weft_moved_call call = {
        "open", -1, weft_call_leaves_handlers | weft_call_makes_descriptor, SYS_openat, {here, (long)path, made, mode}};
    const long opened = weft_move(&call);
    if (directory == AT_FDCWD && here >= 0) syscall(SYS_close, here);
    if (weft_run_handlers(0) && opened == -EINTR) continue;
    if (opened < 0) errno = (int)-opened;
    return weft_made_descriptor(from, opened < 0 ? -1 : (int)opened, flags & O_CLOEXEC);
  }
}

static int noted(const void* from, int descriptor, const char* path, int flags, int is_file) {
  weft_made_descriptor(from, descriptor, flags & O_CLOEXEC);
  if (is_file) weft_note_file(descriptor, 1);
  if ((flags & (O_CREAT | O_TRUNC)) != 0) weft_note_made(descriptor, path);
  return descriptor;
}

static int open_for(const void* from, int directory, const char* path, int flags, mode_t mode) {
  NEXT(openat);
  OWN(path);
  int is_file;
  if (waits_for_other_end(from, directory, own, flags, &is_file)) return open_other_end(from, directory, own, flags, mode);
  return noted(from, next(directory, own, flags | weft_closed_at_first(from), mode), own, flags, is_file);
}

int open(const char* path, int flags, ...) {
  MODE_OF(flags)
  return open_for(__builtin_return_address(0), AT_FDCWD, path, flags, mode);
}
int openat(int directory, const char* path, int flags, ...) {
  MODE_OF(flags)
  return open_for(__builtin_return_address(0), directory, path, flags, mode);
}
int creat(const char* path, mode_t mode) {
  return open_for(__builtin_return_address(0), AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}
int __open_2(const char* path, int flags) { return open_for(__builtin_return_address(0), AT_FDCWD, path, flags, 0); }
int __openat_2(int directory, const char* path, int flags) {
  return open_for(__builtin_return_address(0), directory, path, flags, 0);
}
/* Files have one size of offsets here. */
int open64(const char* path, int flags, ...) __attribute__((alias("open")));
int openat64(int directory, const char* path, int flags, ...) __attribute__((alias("openat")));
int creat64(const char* path, mode_t mode) __attribute__((alias("creat")));
int __open64_2(const char* path, int flags) __attribute__((alias("__open_2")));
int __openat64_2(int directory, const char* path, int flags) __attribute__((alias("__openat_2")));

int weft_flags_of_mode(const char* mode) {
  const int both = strchr(mode, '+') != NULL;
  int flags = both ? O_RDWR : mode[0] == 'r' ? O_RDONLY : O_WRONLY;
  if (mode[0] == 'w') flags |= O_CREAT | O_TRUNC;
  if (mode[0] == 'a') flags |= O_CREAT | O_APPEND;
  if (strchr(mode, 'x') != NULL) flags |= O_EXCL;
  if (strchr(mode, 'e') != NULL) flags |= O_CLOEXEC;
  return strchr("rwa", mode[0]) != NULL && mode[0] != 0 ? flags : -1;
}
/* What waits is opened as streams are that wait (host_streams.c); what is a file, by the C library. */
static FILE* fopen_for(const void* from, const char* path, const char* mode, FILE* (*next)(const char*, const char*)) {
  OWN(path);
  struct stat found;
  const int saved = errno, flags = weft_flags_of_mode(mode);
  const int is_ranks = flags >= 0 && weft_closed_at_first(from) != 0;
  const int waits = is_ranks && (flags & O_EXCL) == 0 && stat(own, &found) == 0 && (S_ISFIFO(found.st_mode) || S_ISCHR(found.st_mode));
  errno = saved;
  if (waits) {
    const int end = open_for(from, AT_FDCWD, own, flags, 0);
    FILE* const stream = end >= 0 ? weft_fdopen_for(from, end, mode) : NULL;
    if (end >= 0 && stream == NULL) close(end);
    return stream;
  }
  char closed[64];
  const int is_led = is_ranks && (flags & O_CLOEXEC) == 0 && strlen(mode) + 2 <= sizeof closed;
  if (is_led) snprintf(closed, sizeof closed, "%ce%s", mode[0], mode + 1);
  FILE* const opened = next(own, is_led ? closed : mode);
  if (opened == NULL) return NULL;
  weft_made_descriptor(from, fileno(opened), !is_led);
  if (mode[0] != 'r') weft_note_made(fileno(opened), own);
  return opened;
}
FILE* fopen(const char* restrict path, const char* restrict mode) {
  NEXT(fopen);
  return fopen_for(__builtin_return_address(0), path, mode, next);
}
FILE* fopen64(const char* restrict path, const char* restrict mode) {
  NEXT(fopen64);
  return fopen_for(__builtin_return_address(0), path, mode, next);
}

int stat(const char* restrict path, struct stat* restrict found) {
  NEXT(stat);
  return next(weft_program_path(path), found);
}
int stat64(const char* restrict path, struct stat64* restrict found) {
  NEXT(stat64);
  return next(weft_program_path(path), found);
}
