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
#include <unistd.h>

static const char* program;

void weft_set_program_path(const char* path) { program = path; }

static int names_executable(const char* path) {
  if (strncmp(path, "/proc/", 6) != 0) return 0;
  path += 6;
  if (strcmp(path, "self/exe") == 0 || strcmp(path, "thread-self/exe") == 0) return 1;
  char* end;
  return *path >= '1' && *path <= '9' && strtol(path, &end, 10) == getpid() && strcmp(end, "/exe") == 0;
}

const char* weft_program_path(const char* path) {
  if (path == NULL || path[0] != '/' || path[1] != 'p' || program == NULL || !names_executable(path)) return path;
  return program;
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
  return own != path ? say_program(to, room) : next(path, to, room);
}
ssize_t readlinkat(int directory, const char* restrict path, char* restrict to, size_t room) {
  NEXT(readlinkat);
  OWN(path);
  return own != path ? say_program(to, room) : next(directory, path, to, room);
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

int open(const char* path, int flags, ...) {
  NEXT(open);
  MODE_OF(flags)
  return next(weft_program_path(path), flags, mode);
}
int open64(const char* path, int flags, ...) {
  NEXT(open64);
  MODE_OF(flags)
  return next(weft_program_path(path), flags, mode);
}
int openat(int directory, const char* path, int flags, ...) {
  NEXT(openat);
  MODE_OF(flags)
  return next(directory, weft_program_path(path), flags, mode);
}
int openat64(int directory, const char* path, int flags, ...) {
  NEXT(openat64);
  MODE_OF(flags)
  return next(directory, weft_program_path(path), flags, mode);
}
int __open_2(const char* path, int flags) { return open(path, flags); }
int __open64_2(const char* path, int flags) { return open64(path, flags); }

FILE* fopen(const char* restrict path, const char* restrict mode) {
  NEXT(fopen);
  return next(weft_program_path(path), mode);
}
FILE* fopen64(const char* restrict path, const char* restrict mode) {
  NEXT(fopen64);
  return next(weft_program_path(path), mode);
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
