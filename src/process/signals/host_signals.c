/* Signals are the calling rank's own (process/signals/signals.h), and so are its handlers of faults. Code that ranks share sets those of
   the process. */
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

#include "process/life/shared_state.h"
#include "process/life/c_library.h"
#include "process/life/caller.h"
#include "process/signals/signals.h"

static int is_own(const void* from, int number) { return weft_has_own_signal(number) && weft_is_ranks_code(from); }
static int has_own_action(const void* from, int number) {
  return (weft_has_own_signal(number) || weft_has_own_fault(number)) && weft_is_ranks_code(from);
}
static int own_action(int number, const struct sigaction* action, struct sigaction* before) {
  return weft_has_own_fault(number) ? weft_own_fault_action(number, action, before) : weft_own_action(number, action, before);
}
#define HAS_OWN_ACTION(number) has_own_action(__builtin_return_address(0), number)
#define IS_OWN(number) is_own(__builtin_return_address(0), number)
/* Calls that mean no one signal ask this. */
#define HAS_OWN is_own(__builtin_return_address(0), SIGALRM)

static int failed_with(int error) {
  if (error == 0) return 0;
  errno = error;
  return -1;
}

int sigaction(int number, const struct sigaction* action, struct sigaction* before) {
  NEXT(sigaction);
  if (weft_is_wefts_signal(number)) return failed_with(EINVAL);
  return HAS_OWN_ACTION(number) ? failed_with(own_action(number, action, before)) : next(number, action, before);
}

static __sighandler_t signal_for(const void* from, int number, __sighandler_t handler, int flags) {
  NEXT(signal);
  if (weft_is_wefts_signal(number)) return errno = EINVAL, SIG_ERR;
  if (!has_own_action(from, number)) return next(number, handler);
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, before;
  return own_action(number, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
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

/* A rank has a mask of its own; a thread that it has made has the kernel's. */
static int has_own_mask(const void* from) { return is_own(from, SIGALRM) && weft_is_ranks_own_thread(); }

/* Such a thread waits for signals of its rank, and for those that are sent to itself. */
static int is_of_ranks_thread(const void* from) {
  return is_own(from, SIGALRM) && !weft_is_ranks_own_thread() && weft_number() >= 0;
}

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

/* --- Of System V and BSD ------------------------------------------------------------------------------------------- */

/* The C library makes these of its own sigaction() and sigprocmask(). */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static int change_one(int how, int number) {
  sigset_t one;
  sigemptyset(&one);
  return sigaddset(&one, number) != 0 ? -1 : failed_with(weft_own_mask(how, &one, NULL));
}
int sighold(int number) {
  NEXT(sighold);
  return has_own_mask(__builtin_return_address(0)) ? change_one(SIG_BLOCK, number) : next(number);
}
int sigrelse(int number) {
  NEXT(sigrelse);
  return has_own_mask(__builtin_return_address(0)) ? change_one(SIG_UNBLOCK, number) : next(number);
}
int sigignore(int number) {
  NEXT(sigignore);
  const struct sigaction ignore = {.sa_handler = SIG_IGN};
  return HAS_OWN_ACTION(number) ? failed_with(own_action(number, &ignore, NULL)) : next(number);
}
__sighandler_t sigset(int number, __sighandler_t handler) {
  NEXT(sigset);
  if (!HAS_OWN_ACTION(number) || !weft_is_ranks_own_thread()) return next(number, handler);
  sigset_t mask;
  weft_own_mask(SIG_BLOCK, NULL, &mask);
  struct sigaction action = {.sa_handler = handler}, before;
  const int was_held = sigismember(&mask, number);
  if (handler == SIG_HOLD) {
    if (change_one(SIG_BLOCK, number) != 0 || own_action(number, NULL, &before) != 0) return SIG_ERR;
  } else if (own_action(number, &action, &before) != 0 || change_one(SIG_UNBLOCK, number) != 0) {
    return SIG_ERR;
  }
  return was_held ? SIG_HOLD : before.sa_handler;
}
int siginterrupt(int number, int interrupts) {
  NEXT(siginterrupt);
  if (!HAS_OWN_ACTION(number)) return next(number, interrupts);
  struct sigaction action;
  own_action(number, NULL, &action);
  action.sa_flags = interrupts ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
  return failed_with(own_action(number, &action, NULL));
}
int sigaltstack(const stack_t* restrict stack, stack_t* restrict before) {
  NEXT(sigaltstack);
  if (!HAS_OWN_ACTION(SIGSEGV) || !weft_is_ranks_own_thread()) return next(stack, before);
  return failed_with(weft_own_alternate_stack(stack, before));
}
/* Masks of the first signals, as bits of an int. */
static int change_first(int how, const int* bits) {
  sigset_t set, before;
  sigemptyset(&set);
  for (int n = 1; bits != NULL && n <= 32; ++n)
    if (((unsigned)*bits & 1u << (n - 1)) != 0) sigaddset(&set, n);
  weft_own_mask(how, bits != NULL ? &set : NULL, &before);
  return (int)before.__val[0];
}
int sigblock(int bits) {
  NEXT(sigblock);
  return has_own_mask(__builtin_return_address(0)) ? change_first(SIG_BLOCK, &bits) : next(bits);
}
int sigsetmask(int bits) {
  NEXT(sigsetmask);
  return has_own_mask(__builtin_return_address(0)) ? change_first(SIG_SETMASK, &bits) : next(bits);
}
int siggetmask(void) {
  NEXT(siggetmask);
  return has_own_mask(__builtin_return_address(0)) ? change_first(SIG_BLOCK, NULL) : next();
}
/* sigpause() of System V takes a signal out of the mask meanwhile. */
int __xpg_sigpause(int number);
int __xpg_sigpause(int number) {
  NEXT(__xpg_sigpause);
  if (!has_own_mask(__builtin_return_address(0))) return next(number);
  sigset_t mask;
  weft_own_mask(SIG_BLOCK, NULL, &mask);
  if (sigdelset(&mask, number) != 0) return -1;
  weft_wait_for_handler(&mask);
  errno = EINTR;
  return -1;
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
  if (is_of_ranks_thread(__builtin_return_address(0))) return weft_take_signal_in_thread(set, details, most);
  if (!has_own_mask(__builtin_return_address(0))) return next(set, details, most);
  const int taken = weft_take_signal(set, details, most);
  if (taken > 0) return taken;
  errno = taken == 0 ? EAGAIN : EINTR;
  return -1;
}
int sigwaitinfo(const sigset_t* restrict set, siginfo_t* restrict details) {
  NEXT(sigwaitinfo);
  if (is_of_ranks_thread(__builtin_return_address(0))) return weft_take_signal_in_thread(set, details, NULL);
  if (!has_own_mask(__builtin_return_address(0))) return next(set, details);
  const int taken = weft_take_signal(set, details, NULL);
  if (taken > 0) return taken;
  errno = EINTR;
  return -1;
}
int sigwait(const sigset_t* restrict set, int* restrict number) {
  NEXT(sigwait);
  const int in_thread = is_of_ranks_thread(__builtin_return_address(0));
  if (!in_thread && !has_own_mask(__builtin_return_address(0))) return next(set, number);
  int taken;
  do taken = in_thread ? weft_take_signal_in_thread(set, NULL, NULL) : weft_take_signal(set, NULL, NULL);
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

/* Timers of clocks that run for all are the rank's: their numbers are negative, which the C library's are not. Others, and those that start
   a thread, are the kernel's, which has them for the process. */
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

/* A place that is kept with the mask of signals has the rank's, too, where neither the kernel nor the C library writes. */
enum { own_mask = 8, own_mask_kept = 9 };
#define kept_here 0x77656674206d736bUL
__attribute__((visibility("hidden"), used)) void weft_keep_mask(struct __jmp_buf_tag* place);
void weft_keep_mask(struct __jmp_buf_tag* place) {
  sigset_t mask;
  place->__saved_mask.__val[own_mask_kept] = 0;
  if (!weft_has_own_signal(SIGALRM) || !weft_is_ranks_own_thread()) return;
  weft_own_mask(SIG_BLOCK, NULL, &mask);
  place->__saved_mask.__val[own_mask] = mask.__val[0];
  place->__saved_mask.__val[own_mask_kept] = kept_here;
}
__attribute__((visibility("hidden"), used)) int (*weft_next_sigsetjmp)(struct __jmp_buf_tag*, int);
/* It returns twice, so that the C library's must find the caller's frame. */
#if defined(__x86_64__)
__asm__(
    ".pushsection .text\n"
    ".globl __sigsetjmp\n"
    ".type __sigsetjmp, @function\n"
    "__sigsetjmp:\n"
    "  .cfi_startproc\n"
    "  testl %esi, %esi\n"
    "  je 1f\n"
    "  pushq %rdi\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  pushq %rsi\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  subq $8, %rsp\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  call weft_keep_mask\n"
    "  addq $8, %rsp\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  popq %rsi\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  popq %rdi\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "1: jmp *weft_next_sigsetjmp(%rip)\n"
    "  .cfi_endproc\n"
    "  .size __sigsetjmp, . - __sigsetjmp\n"
    "  .popsection\n");
#elif defined(__aarch64__)
__asm__(
    ".pushsection .text\n"
    ".globl __sigsetjmp\n"
    ".type __sigsetjmp, %function\n"
    "__sigsetjmp:\n"
    "  .cfi_startproc\n"
    "  cbz w1, 1f\n"
    "  stp x29, x30, [sp, #-32]!\n"
    "  .cfi_adjust_cfa_offset 32\n"
    "  .cfi_offset x30, -24\n"
    "  stp x0, x1, [sp, #16]\n"
    "  bl weft_keep_mask\n"
    "  ldp x0, x1, [sp, #16]\n"
    "  ldp x29, x30, [sp], #32\n"
    "  .cfi_adjust_cfa_offset -32\n"
    "  .cfi_restore x30\n"
    "1: adrp x16, weft_next_sigsetjmp\n"
    "  ldr x16, [x16, :lo12:weft_next_sigsetjmp]\n"
    "  br x16\n"
    "  .cfi_endproc\n"
    "  .size __sigsetjmp, . - __sigsetjmp\n"
    "  .popsection\n");
#endif

typedef void jump(struct __jmp_buf_tag*, int);
static jump* jumps[4];
static __attribute__((constructor)) void find_jumps(void) {
  static const char* const names[] = {"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk"};
  for (int i = 0; i < 4; ++i) jumps[i] = (__extension__(jump*)dlsym(RTLD_NEXT, names[i]));
  weft_next_sigsetjmp = (__extension__(int (*)(struct __jmp_buf_tag*, int))dlsym(RTLD_NEXT, "__sigsetjmp"));
}
/* What the mask of the thread was when the place was kept: before it took weft's own signal, perhaps. */
static void before_jump(struct __jmp_buf_tag* to) {
  const int has_own = to->__mask_was_saved && to->__saved_mask.__val[own_mask_kept] == kept_here;
  weft_leaves_handler(to->__mask_was_saved && !has_own);
  if (has_own && weft_is_ranks_own_thread()) {
    sigset_t mask;
    sigemptyset(&mask);
    mask.__val[0] = to->__saved_mask.__val[own_mask];
    weft_own_mask(SIG_SETMASK, &mask, NULL);
  }
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
