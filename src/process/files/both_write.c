/* What a rank writes to standard output and standard error leaves in whole lines, also when it, or
   the Fortran run time, writes below stdio. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "process/blocking/moved_calls.h"
#include "process/files/descriptors.h"
#include "process/files/standard_streams.h"
#include "process/life/program_replaces.h"
#include "process/signals/signals.h"

LINKED_AS(write);

static ssize_t sent(ssize_t size) {
  if (size < 0 && errno == EPIPE) weft_pipe_is_broken();
  return size;
}

REPLACES ssize_t write(int descriptor, const void* bytes, size_t size) {
  if (descriptor > STDERR_FILENO && !weft_is_file(descriptor) && weft_may_move(__builtin_return_address(0)))
    return weft_write_moved(descriptor, bytes, size);
  return sent(weft_write(descriptor, bytes, size));
}

REPLACES ssize_t writev(int descriptor, const struct iovec* parts, int count) {
  if (descriptor > STDERR_FILENO && weft_may_move(__builtin_return_address(0)) && weft_can_wait(descriptor)) {
    const struct weft_moved_call call = {"writev", descriptor, 0, SYS_writev, {descriptor, (long)parts, count}};
    const long written = weft_move(&call);
    if (written < 0) errno = (int)-written;
    return written < 0 ? -1 : written;
  }
  if (descriptor != STDOUT_FILENO && descriptor != STDERR_FILENO)
    return sent(syscall(SYS_writev, descriptor, parts, count));
  if (count < 0 || count > IOV_MAX) {
    errno = EINVAL;
    return -1;
  }
  ssize_t all = 0;
  for (int i = 0; i < count; ++i) {
    const ssize_t written = weft_write(descriptor, parts[i].iov_base, parts[i].iov_len);
    if (written < 0) return all > 0 ? all : written;
    all += written;
    if ((size_t)written < parts[i].iov_len) break;
  }
  return all;
}
