/* Signals reach the process, hence all its ranks: what one rank does with them is told. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/life/caller.h"
#include "process/life/program_replaces.h"
#include "process/signals/own_number.h"
#include "process/signals/signals.h"

LINKED_AS(signals);

/* The caller's, which are not those of its rank (process/signals/own_number.h). */
static pid_t number_of_process(void) { return (pid_t)syscall(SYS_getpid); }
static pid_t number_of_thread(void) { return (pid_t)syscall(SYS_gettid); }

/* Workers, and threads made by them, leave the signals of their process to another thread; this one is for its rank, now. */
static int send_to_thread(int number, const siginfo_t* details) {
  const pid_t process = number_of_process(), thread = number_of_thread();
  return (int)(details != NULL ? syscall(SYS_rt_tgsigqueueinfo, process, thread, number, details)
                               : syscall(SYS_tgkill, process, thread, number));
}
static int send_to_caller(int number, const siginfo_t* details) {
  sigset_t one, before;
  if (weft_takes_signals()) return send_to_thread(number, details);
  sigemptyset(&one);
  if (number != 0 && sigaddset(&one, number) != 0) return -1; /* 0 asks only whether it would go. */
  /* The thread's own mask, not the rank's. */
  syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &one, &before, _NSIG / 8);
  const int failed = send_to_thread(number, details);
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, _NSIG / 8);
  return failed;
}

static int is_blocked(int number) {
  sigset_t now;
  sigemptyset(&now);
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &now, _NSIG / 8);
  return sigismember(&now, number);
}
/* A fault is handled by the rank that sends it to its process, where the kernel would choose any thread, also one of weft's. */
static int is_callers_fault(int number) {
  switch (number) {
    case SIGSEGV:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGTRAP:
    case SIGABRT:
    case SIGSYS:
      return weft_own() != NULL || !is_blocked(number);
    default:
      return 0;
  }
}

REPLACES int raise(int number) {
  if (weft_signal_self(number, NULL)) return 0;
  weft_raises(number);
  return send_to_caller(number, NULL);
}

/* Libraries of the program call it, too: Fortran's run time takes the signal from weft before it does. */
REPLACES __attribute__((noreturn)) void abort(void) {
  weft_aborts();
  send_to_caller(SIGABRT, NULL);
  signal(SIGABRT, SIG_DFL); /* A handler that returns keeps no process. */
  weft_aborts();
  for (;;) send_to_caller(SIGABRT, NULL);
}

static int (*to_thread)(pthread_t, int);
/* It is found before a handler of signals may need it, which must not wait for the loader. */
__attribute__((constructor)) static void find_to_thread(void) { to_thread = weft_pthread_kill_of_libc(); }

/* A signal that a thread sends to itself is its process's end all the same. */
REPLACES int pthread_kill(pthread_t thread, int number) {
  if (!pthread_equal(thread, pthread_self())) {
    if (weft_is_thread_of_rank(thread) && weft_signal_self(number, NULL)) return 0;
    if (to_thread == NULL) find_to_thread(); /* weft's own threads call before the program's constructors have run. */
    return to_thread(thread, number);
  }
  if (weft_signal_self(number, NULL)) return 0;
  weft_raises(number);
  const int saved = errno;
  const int error = send_to_caller(number, NULL) == 0 ? 0 : errno;
  errno = saved;
  return error;
}

REPLACES int sigqueue(pid_t process, int number, const union sigval value) {
  siginfo_t details = {0};
  details.si_signo = number;
  details.si_code = SI_QUEUE;
  details.si_pid = getpid();
  details.si_uid = getuid();
  details.si_value = value;
  const int is_own = process == details.si_pid || process == number_of_process();
  if (is_own && weft_signal_self(number, &details)) return 0;
  if (is_own) weft_raises(number);
  if (is_own && is_callers_fault(number)) return send_to_caller(number, &details);
  if (!is_own && weft_signal_number(process, number, &details)) return 0;
  return (int)syscall(SYS_rt_sigqueueinfo, is_own ? number_of_process() : process, number, &details);
}

REPLACES int kill(pid_t process, int number) {
  const int is_own = process > 0 && (process == getpid() || process == number_of_process());
  if (process > 0) {
    siginfo_t details = {0};
    details.si_code = SI_USER;
    details.si_pid = getpid();
    details.si_uid = getuid();
    if (is_own ? weft_signal_self(number, &details) : weft_signal_number(process, number, &details)) return 0;
  }
  if (is_own || process == 0 || (process < -1 && process == -getpgrp())) weft_raises(number);
  if (is_own && is_callers_fault(number)) return send_to_caller(number, NULL);
  return (int)syscall(SYS_kill, is_own ? number_of_process() : process, number);
}
REPLACES int killpg(pid_t group, int number) {
  if (group < 0) {
    errno = EINVAL;
    return -1;
  }
  return kill(-group, number);
}
