/* The file of the program, for who looks for what lies beside it: the kernel says that of weft-host. The names that it has are
   /proc/self/exe and /proc/NUMBER/exe, with the process's own number. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE /* Its own definitions would stand in the way. */
#include "image/host/program_path.h"

#include <dlfcn.h>
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

#include "image/host/scratch.h"
#include "program/moved_calls.h"
#include "program/rank_signals.h"

static const char* program;

void weft_set_program_path(const char* path) { program = path; }

static int names_executable(const char* path) {
  if (strncmp(path, "/proc/", 6) != 0) return 0;
  path += 6;
  if (strcmp(path, "self/exe") == 0 || strcmp(path, "thread-self/exe") == 0) return 1;
  char* end;
  return *path >= '1' && *path <= '9' && strtol(path, &end, 10) == getpid() && strcmp(end, "/exe") == 0;
}

/* What stands behind "/proc/self" or "/proc/NUMBER", which is the calling thread's: of the process the kernel tells what its
   first thread has. Null: it is another path. */
static const char* own_directory(const char* path) {
  if (strncmp(path, "/proc/", 6) != 0) return NULL;
  const char* const whose = path + 6;
  char* behind = (char*)whose + 4;
  if (strncmp(whose, "self", 4) != 0 && (*whose < '1' || *whose > '9' || strtol(whose, &behind, 10) != getpid())) return NULL;
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
/* The C library's of this name, looked up once; twice where two threads come at once. */
#define NEXT(function)                                                                  \
  static __typeof__(&function) next;                                                    \
  if (next == NULL) next = (__extension__(__typeof__(&function)) dlsym(RTLD_NEXT, #function))

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
static int open_other_end(int directory, const char* path, int flags, mode_t mode) {
  for (;;) {
    const int here = directory == AT_FDCWD ? (int)syscall(SYS_openat, AT_FDCWD, ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0)
                                           : directory; /* The blocking thread is elsewhere. */
    const struct weft_moved_call call = {"open", -1, weft_call_leaves_handlers, SYS_openat, {here, (long)path, flags, mode}};
    const long opened = weft_move(&call);
    if (directory == AT_FDCWD && here >= 0) syscall(SYS_close, here);
    if (weft_run_handlers(0) && opened == -EINTR) continue;
    weft_note_file((int)opened, 0);
    if (opened < 0) errno = (int)-opened;
    return opened < 0 ? -1 : (int)opened;
  }
}

static int noted(int descriptor, const char* path, int flags, int is_file) {
  weft_note_file(descriptor, is_file);
  if ((flags & (O_CREAT | O_TRUNC)) != 0) weft_note_made(descriptor, path);
  return descriptor;
}

int open(const char* path, int flags, ...) {
  NEXT(open);
  MODE_OF(flags)
  OWN(path);
  int is_file;
  if (waits_for_other_end(__builtin_return_address(0), AT_FDCWD, own, flags, &is_file))
    return open_other_end(AT_FDCWD, own, flags, mode);
  return noted(next(own, flags, mode), own, flags, is_file);
}
int open64(const char* path, int flags, ...) {
  NEXT(open64);
  MODE_OF(flags)
  OWN(path);
  int is_file;
  if (waits_for_other_end(__builtin_return_address(0), AT_FDCWD, own, flags, &is_file))
    return open_other_end(AT_FDCWD, own, flags, mode);
  return noted(next(own, flags, mode), own, flags, is_file);
}
int openat(int directory, const char* path, int flags, ...) {
  NEXT(openat);
  MODE_OF(flags)
  OWN(path);
  int is_file;
  if (waits_for_other_end(__builtin_return_address(0), directory, own, flags, &is_file))
    return open_other_end(directory, own, flags, mode);
  return noted(next(directory, own, flags, mode), own, flags, is_file);
}
int openat64(int directory, const char* path, int flags, ...) {
  NEXT(openat64);
  MODE_OF(flags)
  OWN(path);
  int is_file;
  if (waits_for_other_end(__builtin_return_address(0), directory, own, flags, &is_file))
    return open_other_end(directory, own, flags, mode);
  return noted(next(directory, own, flags, mode), own, flags, is_file);
}
int creat(const char* path, mode_t mode) { return open(path, O_WRONLY | O_CREAT | O_TRUNC, mode); }
int creat64(const char* path, mode_t mode) { return open(path, O_WRONLY | O_CREAT | O_TRUNC, mode); }
int __open_2(const char* path, int flags) {
  NEXT(open);
  OWN(path);
  int is_file;
  if (waits_for_other_end(__builtin_return_address(0), AT_FDCWD, own, flags, &is_file))
    return open_other_end(AT_FDCWD, own, flags, 0);
  return noted(next(own, flags), own, flags, is_file);
}
int __open64_2(const char* path, int flags) __attribute__((alias("__open_2")));

static FILE* fopen_for(const void* from, const char* path, const char* mode, FILE* (*next)(const char*, const char*)) {
  OWN(path);
  const int flags = mode[0] == 'r' ? O_RDONLY : O_WRONLY;
  int is_file;
  if (strchr(mode, '+') != NULL || !waits_for_other_end(from, AT_FDCWD, own, flags, &is_file)) {
    FILE* const opened = next(own, mode);
    if (opened != NULL && mode[0] != 'r') weft_note_made(fileno(opened), own);
    return opened;
  }
  const int end = open_other_end(AT_FDCWD, own, flags | (strchr(mode, 'e') != NULL ? O_CLOEXEC : 0), 0);
  FILE* const stream = end >= 0 ? fdopen(end, mode) : NULL;
  if (end >= 0 && stream == NULL) close(end);
  return stream;
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

/* --- What is started: the program once more, with its own words -------------------------------------------------- */

static __typeof__(&execve) next_execve;
/* Found now: a child of vfork() must not wait for the loader. */
static __attribute__((constructor)) void find_next(void) {
  next_execve = (__extension__(__typeof__(&execve)) dlsym(RTLD_NEXT, "execve"));
}
int execve(const char* path, char* const words[], char* const environment[]) {
  return next_execve(weft_program_path(path), words, environment);
}
