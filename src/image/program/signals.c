/* Signals reach the process, hence all its ranks: what one rank does with them is told. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "image/program/replaces.h"
#include "program/program.h"
#include "program/rank_signals.h"

LINKED_AS(signals);

/* Workers, and threads made by them, leave the signals of their process to another thread; this one is for its rank, now. */
static int send_to_caller(int number) {
  sigset_t one, before;
  if (weft_takes_signals()) return (int)syscall(SYS_tgkill, getpid(), gettid(), number);
  sigemptyset(&one);
  if (number != 0 && sigaddset(&one, number) != 0) return -1; /* 0 asks only whether it would go. */
  /* The thread's own mask, not the rank's. */
  syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &one, &before, _NSIG / 8);
  const int failed = (int)syscall(SYS_tgkill, getpid(), gettid(), number);
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, _NSIG / 8);
  return failed;
}

REPLACES int raise(int number) {
  if (weft_signal_self(number, NULL)) return 0;
  weft_raises(number);
  return send_to_caller(number);
}

/* Also for libraries of the program: Fortran's run time takes the signal from weft before it calls this. */
REPLACES __attribute__((noreturn)) void abort(void) {
  weft_aborts();
  send_to_caller(SIGABRT);
  signal(SIGABRT, SIG_DFL); /* A handler that returns keeps no process. */
  weft_aborts();
  for (;;) send_to_caller(SIGABRT);
}

static int (*to_thread)(pthread_t, int);
/* Before a handler of signals may ask for it, which must not wait for the loader. */
__attribute__((constructor)) static void find_to_thread(void) { to_thread = weft_pthread_kill_of_libc(); }

/* What a thread sends to itself; the signal is its process's end all the same. */
REPLACES int pthread_kill(pthread_t thread, int number) {
  if (!pthread_equal(thread, pthread_self())) {
    if (weft_is_thread_of_rank(thread) && weft_signal_self(number, NULL)) return 0;
    if (to_thread == NULL) find_to_thread(); /* weft's own threads call before the program's constructors have run. */
    return to_thread(thread, number);
  }
  if (weft_signal_self(number, NULL)) return 0;
  weft_raises(number);
  const int saved = errno;
  const int error = send_to_caller(number) == 0 ? 0 : errno;
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
  if (process == getpid() && weft_signal_self(number, &details)) return 0;
  if (process == getpid()) weft_raises(number);
  return (int)syscall(SYS_rt_sigqueueinfo, process, number, &details);
}

REPLACES int kill(pid_t process, int number) {
  if (process == getpid()) {
    siginfo_t details = {0};
    details.si_code = SI_USER;
    details.si_pid = process;
    details.si_uid = getuid();
    if (weft_signal_self(number, &details)) return 0;
  }
  if (process == getpid() || process == 0 || (process < -1 && process == -getpgrp())) weft_raises(number);
  return (int)syscall(SYS_kill, process, number);
}
REPLACES int killpg(pid_t group, int number) {
  if (group < 0) {
    errno = EINVAL;
    return -1;
  }
  return kill(-group, number);
}
