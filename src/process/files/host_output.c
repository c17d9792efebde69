/* dup2() onto standard output or standard error is the rank's own affair. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE /* Its own definitions would stand in the way. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/files/host_output.h"

#include "process/files/descriptors.h"
#include "process/files/host_locks.h"
#include "process/files/standard_streams.h"
#include "process/life/c_library.h"
#include "process/life/caller.h"

static int is_output(int descriptor) { return descriptor == STDOUT_FILENO || descriptor == STDERR_FILENO; }

/* The descriptor that the rank means. */
static int meant(int descriptor) {
  const int own = is_output(descriptor) ? weft_own_output(descriptor) : -1;
  return own >= 0 ? own : descriptor;
}

int dup(int from) {
  const void* const caller = __builtin_return_address(0);
  const int command = weft_closed_at_first(caller) ? F_DUPFD_CLOEXEC : F_DUPFD;
  return weft_made_descriptor(caller, (int)syscall(SYS_fcntl, meant(from), command, 0), 0);
}

static int dup_for(const void* caller, int from, int to, int flags) {
  const int source = meant(from);
  if (from != to) weft_drop_locks(caller, to);
  if (!is_output(to) || from == to || !weft_has_own_output()) {
    const int at_first = to > STDERR_FILENO && from != to ? weft_closed_at_first(caller) : 0;
    return weft_made_descriptor(caller, (int)syscall(SYS_dup3, source, to, flags | at_first), flags & O_CLOEXEC);
  }
  return weft_redirect_output(to, source) ? to : -1;
}

int dup3(int from, int to, int flags) { return dup_for(__builtin_return_address(0), from, to, flags); }

int dup2(int from, int to) {
  if (from != to) return dup_for(__builtin_return_address(0), from, to, 0);
  return fcntl(from, F_GETFD) < 0 ? -1 : to;
}

/* --- What asks for the file that is written to ---------------------------------------------------------------------- */

#define MEANT(descriptor) weft_meant_output(__builtin_return_address(0), descriptor)

/* Only the rank's own code means the rank's: weft asks for the process's. */
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
  NEXT(vdprintf);
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
