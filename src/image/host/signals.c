/* Signals are the calling rank's own (program/rank_signals.h), but those of faults, and what code does that ranks share. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE /* Its own definitions would stand in the way. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "program/moved_calls.h"
#include "program/program.h"
#include "program/rank_signals.h"

#define NEXT(function)             \
  static __typeof__(&function) next; \
  if (next == NULL) next = (__extension__(__typeof__(&function)) dlsym(RTLD_NEXT, #function))

static int is_own(const void* from, int number) { return weft_has_own_signal(number) && weft_is_ranks_code(from); }
#define IS_OWN(number) is_own(__builtin_return_address(0), number)
/* Of calls that mean no one signal. */
#define HAS_OWN is_own(__builtin_return_address(0), SIGALRM)

static int failed_with(int error) {
  if (error == 0) return 0;
  errno = error;
  return -1;
}

int sigaction(int number, const struct sigaction* action, struct sigaction* before) {
  NEXT(sigaction);
  if (weft_is_wefts_signal(number)) return failed_with(EINVAL);
  if (IS_OWN(number)) return failed_with(weft_own_action(number, action, before));
  const int failed = next(number, action, before);
  if (failed == 0 && action != NULL && action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN)
    weft_handles(number, action->sa_handler);
  return failed;
}

static __sighandler_t signal_for(const void* from, int number, __sighandler_t handler, int flags) {
  NEXT(signal);
  if (weft_is_wefts_signal(number)) return errno = EINVAL, SIG_ERR;
  if (!is_own(from, number)) {
    const __sighandler_t previous = next(number, handler);
    if (previous != SIG_ERR && handler != SIG_DFL && handler != SIG_IGN) weft_handles(number, handler);
    return previous;
  }
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, before;
  return weft_own_action(number, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
}
__sighandler_t signal(int number, __sighandler_t handler) {
  return signal_for(__builtin_return_address(0), number, handler, SA_RESTART);
}
__sighandler_t bsd_signal(int number, __sighandler_t handler) {
  return signal_for(__builtin_return_address(0), number, handler, SA_RESTART);
}
__sighandler_t __sysv_signal(int number, __sighandler_t handler) {
  return signal_for(__builtin_return_address(0), number, handler, (int)SA_RESETHAND | SA_NODEFER);
}
__sighandler_t sysv_signal(int number, __sighandler_t handler) {
  return signal_for(__builtin_return_address(0), number, handler, (int)SA_RESETHAND | SA_NODEFER);
}

/* --- Masks -------------------------------------------------------------------------------------------------------- */

/* Of a rank; a thread that it has made has the kernel's. */
static int has_own_mask(const void* from) { return is_own(from, SIGALRM) && weft_is_ranks_own_thread(); }

int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) {
  NEXT(pthread_sigmask);
  return has_own_mask(__builtin_return_address(0)) ? weft_own_mask(how, set, before) : next(how, set, before);
}
int sigprocmask(int how, const sigset_t* set, sigset_t* before) {
  NEXT(sigprocmask);
  return has_own_mask(__builtin_return_address(0)) ? failed_with(weft_own_mask(how, set, before)) : next(how, set, before);
}
int sigpending(sigset_t* set) {
  NEXT(sigpending);
  if (!has_own_mask(__builtin_return_address(0))) return next(set);
  weft_own_pending(set);
  return 0;
}

/* --- Waiting ------------------------------------------------------------------------------------------------------- */

int pause(void) {
  NEXT(pause);
  if (!has_own_mask(__builtin_return_address(0))) return next();
  weft_wait_for_handler(NULL);
  errno = EINTR;
  return -1;
}
int sigsuspend(const sigset_t* mask) {
  NEXT(sigsuspend);
  if (!has_own_mask(__builtin_return_address(0))) return next(mask);
  weft_wait_for_handler(mask);
  errno = EINTR;
  return -1;
}
int sigtimedwait(const sigset_t* restrict set, siginfo_t* restrict details, const struct timespec* restrict most) {
  NEXT(sigtimedwait);
  if (!has_own_mask(__builtin_return_address(0))) return next(set, details, most);
  const int taken = weft_take_signal(set, details, most);
  if (taken > 0) return taken;
  errno = taken == 0 ? EAGAIN : EINTR;
  return -1;
}
int sigwaitinfo(const sigset_t* restrict set, siginfo_t* restrict details) {
  NEXT(sigwaitinfo);
  if (!has_own_mask(__builtin_return_address(0))) return next(set, details);
  const int taken = weft_take_signal(set, details, NULL);
  if (taken > 0) return taken;
  errno = EINTR;
  return -1;
}
int sigwait(const sigset_t* restrict set, int* restrict number) {
  NEXT(sigwait);
  if (!has_own_mask(__builtin_return_address(0))) return next(set, number);
  int taken;
  do taken = weft_take_signal(set, NULL, NULL);
  while (taken <= 0);
  *number = taken;
  return 0;
}

/* --- Timers --------------------------------------------------------------------------------------------------------- */

unsigned alarm(unsigned seconds) {
  NEXT(alarm);
  if (!HAS_OWN) return next(seconds);
  const struct itimerspec set = {{0, 0}, {seconds, 0}};
  struct itimerspec left;
  weft_own_timer(0, &set, &left);
  return (unsigned)left.it_value.tv_sec + (left.it_value.tv_nsec >= 500000000 ? 1 : 0) +
         (left.it_value.tv_sec == 0 && left.it_value.tv_nsec > 0 && left.it_value.tv_nsec < 500000000 ? 1 : 0);
}

static struct timeval coarse(struct timespec time) { return (struct timeval){time.tv_sec, time.tv_nsec / 1000}; }
static struct timespec fine(struct timeval time) { return (struct timespec){time.tv_sec, time.tv_usec * 1000}; }
static int is_time(const struct timeval* time) { return time->tv_sec >= 0 && time->tv_usec >= 0 && time->tv_usec < 1000000; }

int setitimer(__itimer_which_t which, const struct itimerval* restrict set, struct itimerval* restrict before) {
  NEXT(setitimer);
  if (which != ITIMER_REAL || !HAS_OWN) {
    if (which != ITIMER_REAL) weft_shares("the timer of processor time", which == ITIMER_PROF ? "SIGPROF" : "SIGVTALRM");
    return next(which, set, before);
  }
  if (!is_time(&set->it_value) || !is_time(&set->it_interval)) return failed_with(EINVAL);
  const struct itimerspec wanted = {fine(set->it_interval), fine(set->it_value)};
  struct itimerspec left;
  weft_own_timer(0, &wanted, &left);
  if (before != NULL) *before = (struct itimerval){coarse(left.it_interval), coarse(left.it_value)};
  return 0;
}
int getitimer(__itimer_which_t which, struct itimerval* now) {
  NEXT(getitimer);
  if (which != ITIMER_REAL || !HAS_OWN) return next(which, now);
  struct itimerspec left;
  weft_own_timer(0, NULL, &left);
  *now = (struct itimerval){coarse(left.it_interval), coarse(left.it_value)};
  return 0;
}
useconds_t ualarm(useconds_t first, useconds_t every) {
  NEXT(ualarm);
  if (!HAS_OWN) return next(first, every);
  const struct itimerspec set = {{every / 1000000, every % 1000000 * 1000L}, {first / 1000000, first % 1000000 * 1000L}};
  struct itimerspec left;
  weft_own_timer(0, &set, &left);
  return (useconds_t)(left.it_value.tv_sec * 1000000 + left.it_value.tv_nsec / 1000);
}

/* Of the clocks that run for all: their numbers are negative, which the C library's are not. Others, and those that start a
   thread, are the kernel's, which has them for the process. */
static int is_own_timer(const timer_t id) { return (long)id < 0; }
static int number_of(const timer_t id) { return (int)-(long)id; }

int timer_create(clockid_t clock, struct sigevent* restrict event, timer_t* restrict made) {
  NEXT(timer_create);
  const int sends = event == NULL || event->sigev_notify == SIGEV_SIGNAL;
  const int runs = clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME || clock == CLOCK_TAI;
  const int number = event == NULL ? SIGALRM : event->sigev_signo;
  if (!sends || !runs || !IS_OWN(number)) return next(clock, event, made);
  const union sigval value = event != NULL ? event->sigev_value : (union sigval){0};
  *made = (timer_t)(long)-weft_make_timer(number, value);
  return 0;
}
int timer_settime(timer_t id, int flags, const struct itimerspec* restrict set, struct itimerspec* restrict before) {
  NEXT(timer_settime);
  if (!is_own_timer(id)) return next(id, flags, set, before);
  struct itimerspec wanted = *set;
  if ((flags & TIMER_ABSTIME) != 0 && (set->it_value.tv_sec != 0 || set->it_value.tv_nsec != 0)) {
    struct timespec now; /* A time of day is later than any since the machine has started. */
    clock_gettime(set->it_value.tv_sec >= 1000000000 ? CLOCK_REALTIME : CLOCK_MONOTONIC, &now);
    const long long left = (set->it_value.tv_sec - now.tv_sec) * 1000000000LL + (set->it_value.tv_nsec - now.tv_nsec);
    wanted.it_value = left > 0 ? (struct timespec){left / 1000000000, left % 1000000000} : (struct timespec){0, 1};
  }
  weft_own_timer(number_of(id), &wanted, before);
  return 0;
}
int timer_gettime(timer_t id, struct itimerspec* now) {
  NEXT(timer_gettime);
  if (!is_own_timer(id)) return next(id, now);
  weft_own_timer(number_of(id), NULL, now);
  return 0;
}
int timer_getoverrun(timer_t id) {
  NEXT(timer_getoverrun);
  return is_own_timer(id) ? 0 : next(id);
}
int timer_delete(timer_t id) {
  NEXT(timer_delete);
  return is_own_timer(id) ? failed_with(weft_delete_timer(number_of(id)) == 0 ? 0 : EINVAL) : next(id);
}

/* --- Jumps out of handlers -------------------------------------------------------------------------------------------- */

typedef void jump(struct __jmp_buf_tag*, int);
static jump* jumps[4];
static __attribute__((constructor)) void find_jumps(void) {
  static const char* const names[] = {"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk"};
  for (int i = 0; i < 4; ++i) jumps[i] = (__extension__(jump*)dlsym(RTLD_NEXT, names[i]));
}
/* What the mask of the thread was when the place was kept: before it took weft's own signal, perhaps. */
static void before_jump(struct __jmp_buf_tag* to) {
  weft_leaves_handler(to->__mask_was_saved);
  for (int n = _NSIG - 1; n > 31 && to->__mask_was_saved; --n)
    if (weft_is_wefts_signal(n)) to->__saved_mask.__val[(n - 1) / (8 * sizeof(long))] &= ~(1UL << (n - 1) % (8 * sizeof(long)));
}
#define JUMP(name, index)                                                                \
  __attribute__((noreturn)) void name(struct __jmp_buf_tag to[1], int value) {           \
    before_jump(to);                                                                     \
    jumps[index](to, value);                                                             \
    __builtin_unreachable();                                                             \
  }
JUMP(longjmp, 0)
JUMP(_longjmp, 1)
JUMP(siglongjmp, 2)
void __longjmp_chk(struct __jmp_buf_tag to[1], int value) __attribute__((noreturn));
JUMP(__longjmp_chk, 3)
