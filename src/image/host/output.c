/* dup2() onto standard output or standard error is the rank's own affair. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE /* Its own definitions would stand in the way. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "image/host/locks.h"
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
  if (!is_output(to) || from == to || !weft_has_own_output()) return (int)syscall(SYS_dup3, source, to, flags);
  return weft_lead_output(to, source) ? to : -1;
}

int dup3(int from, int to, int flags) { return dup_for(__builtin_return_address(0), from, to, flags); }

int dup2(int from, int to) {
  if (from != to) return dup_for(__builtin_return_address(0), from, to, 0);
  return fcntl(from, F_GETFD) < 0 ? -1 : to;
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
