/* Other ranks of the worker run while a rank sleeps. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "process/blocking/yielding.h"
#include "process/life/program_replaces.h"
#include "process/signals/signals.h"
#include "trace/callers.h"

LINKED_AS(sleep);

static int sleep_for(const struct timespec* duration, struct timespec* left) {
  if (duration->tv_sec >= 0 && duration->tv_nsec >= 0 && duration->tv_nsec < 1000000000) {
    const long long whole = duration->tv_sec * 1000000000LL + duration->tv_nsec;
    const long long rest = weft_sleep_interruptibly(whole);
    if (rest > 0) {
      if (left != NULL) *left = (struct timespec){rest / 1000000000, rest % 1000000000};
      errno = EINTR;
      return -1;
    }
    if (rest == 0 || weft_sleep(whole)) return 0;
  }
  return (int)syscall(SYS_nanosleep, duration, left);
}

REPLACES int nanosleep(const struct timespec* duration, struct timespec* left) {
  WEFT_STUB_OF_CALL;
  return sleep_for(duration, left);
}

REPLACES int clock_nanosleep(clockid_t clock, int flags, const struct timespec* time,
                             struct timespec* left) {
  WEFT_STUB_OF_CALL;
  if (flags == 0) return sleep_for(time, left) == 0 ? 0 : errno;
  struct timespec now;
  if (clock_gettime(clock, &now) != 0) return errno;
  const long long wait = (time->tv_sec - now.tv_sec) * 1000000000LL + (time->tv_nsec - now.tv_nsec);
  if (wait <= 0) return 0;
  const long long rest = weft_sleep_interruptibly(wait);
  if (rest >= 0) return rest == 0 ? 0 : EINTR;
  if (weft_sleep(wait)) return 0;
  return syscall(SYS_clock_nanosleep, clock, flags, time, left) == 0 ? 0 : errno;
}

REPLACES unsigned sleep(unsigned seconds) {
  WEFT_STUB_OF_CALL;
  struct timespec duration = {seconds, 0}, left = {0, 0};
  return sleep_for(&duration, &left) == 0 ? 0 : (unsigned)left.tv_sec + (left.tv_nsec > 0 ? 1 : 0);
}

REPLACES int usleep(useconds_t microseconds) {
  WEFT_STUB_OF_CALL;
  const struct timespec duration = {microseconds / 1000000, (long)(microseconds % 1000000) * 1000};
  return sleep_for(&duration, NULL);
}

REPLACES int sched_yield(void) {
  return weft_sleep(0) ? 0 : (int)syscall(SYS_sched_yield);
}

REPLACES int thrd_sleep(const struct timespec* duration, struct timespec* left) {
  WEFT_STUB_OF_CALL;
  if (sleep_for(duration, left) == 0) return 0;
  return errno == EINTR ? -1 : -2;
}

REPLACES void thrd_yield(void) {
  sched_yield();
}
