/* dup2() onto standard output or standard error is the rank's own affair. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE /* Its own definitions would stand in the way. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "image/host/locks.h"
#include "image/host/output.h"
#include "program/moved_calls.h"
#include "program/own_output.h"

static int is_output(int descriptor) { return descriptor == STDOUT_FILENO || descriptor == STDERR_FILENO; }

/* The descriptor that the rank means. */
static int meant(int descriptor) {
  const int own = is_output(descriptor) ? weft_own_output(descriptor) : -1;
  return own >= 0 ? own : descriptor;
}

int dup(int from) { return (int)syscall(SYS_dup, meant(from)); }

static int dup_for(const void* caller, int from, int to, int flags) {
  const int source = meant(from);
  if (from != to) weft_drop_locks(caller, to);
  weft_note_file(to, 0);
  if (!is_output(to) || from == to || !weft_has_own_output()) return (int)syscall(SYS_dup3, source, to, flags);
  return weft_lead_output(to, source) ? to : -1;
}

int dup3(int from, int to, int flags) { return dup_for(__builtin_return_address(0), from, to, flags); }

int dup2(int from, int to) {
  if (from != to) return dup_for(__builtin_return_address(0), from, to, 0);
  return fcntl(from, F_GETFD) < 0 ? -1 : to;
}

/* --- What asks for the file that is written to ---------------------------------------------------------------------- */

#define NEXT(function)               \
  static __typeof__(&function) next; \
  if (next == NULL) next = (__extension__(__typeof__(&function)) dlsym(RTLD_NEXT, #function))
#define MEANT(descriptor) weft_meant_output(__builtin_return_address(0), descriptor)

/* Of the rank's own code: weft asks for the process's. */
int weft_meant_output(const void* from, int descriptor) {
  return is_output(descriptor) && weft_is_ranks_code(from) ? meant(descriptor) : descriptor;
}

int fstat(int descriptor, struct stat* found) {
  NEXT(fstat);
  return next(MEANT(descriptor), found);
}
int fstat64(int descriptor, struct stat64* found) {
  NEXT(fstat64);
  return next(MEANT(descriptor), found);
}
int isatty(int descriptor) {
  NEXT(isatty);
  return next(MEANT(descriptor));
}
off_t lseek(int descriptor, off_t to, int from) {
  NEXT(lseek);
  return next(MEANT(descriptor), to, from);
}
off64_t lseek64(int descriptor, off64_t to, int from) {
  NEXT(lseek64);
  return next(MEANT(descriptor), to, from);
}
int fsync(int descriptor) {
  NEXT(fsync);
  return next(MEANT(descriptor));
}
int fdatasync(int descriptor) {
  NEXT(fdatasync);
  return next(MEANT(descriptor));
}
int ftruncate(int descriptor, off_t size) {
  NEXT(ftruncate);
  return next(MEANT(descriptor), size);
}
int ftruncate64(int descriptor, off64_t size) {
  NEXT(ftruncate64);
  return next(MEANT(descriptor), size);
}
int fchmod(int descriptor, mode_t mode) {
  NEXT(fchmod);
  return next(MEANT(descriptor), mode);
}
ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t place) {
  NEXT(pwrite);
  return next(MEANT(descriptor), bytes, size, place);
}
ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off64_t place) {
  NEXT(pwrite64);
  return next(MEANT(descriptor), bytes, size, place);
}
/* The C library writes these below write(). */
int vdprintf(int descriptor, const char* restrict format, va_list words) {
  static __typeof__(&vdprintf) next;
  if (next == NULL) next = (__extension__(__typeof__(&vdprintf)) dlsym(RTLD_NEXT, "vdprintf"));
  return next(meant(descriptor), format, words);
}
int dprintf(int descriptor, const char* restrict format, ...) {
  va_list words;
  va_start(words, format);
  const int written = vdprintf(descriptor, format, words);
  va_end(words);
  return written;
}
int __vdprintf_chk(int descriptor, int level, const char* restrict format, va_list words) {
  (void)level;
  return vdprintf(descriptor, format, words);
}
int __dprintf_chk(int descriptor, int level, const char* restrict format, ...) {
  (void)level;
  va_list words;
  va_start(words, format);
  const int written = vdprintf(descriptor, format, words);
  va_end(words);
  return written;
}
