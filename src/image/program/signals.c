/* Signals reach the process, hence all its ranks: what one rank does with them is told. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "image/program/replaces.h"
#include "rank/program.h"

LINKED_AS(signals);

/* Workers leave the signals of their process to another thread; this one is for its rank, now. */
static int send_to_caller(int number) {
  sigset_t one, before;
  sigemptyset(&one);
  if (number != 0 && sigaddset(&one, number) != 0) return -1; /* 0 asks only whether it would go. */
  pthread_sigmask(SIG_UNBLOCK, &one, &before);
  const int failed = (int)syscall(SYS_tgkill, getpid(), gettid(), number);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return failed;
}

REPLACES int raise(int number) {
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

/* To a thread; the signal is its process's end all the same. */
REPLACES int pthread_kill(pthread_t thread, int number) {
  weft_raises(number);
  if (pthread_equal(thread, pthread_self())) {
    const int saved = errno;
    const int error = send_to_caller(number) == 0 ? 0 : errno;
    errno = saved;
    return error;
  }
  return (__extension__(__typeof__(&pthread_kill)) dlsym(RTLD_NEXT, "pthread_kill"))(thread, number);
}

REPLACES int sigqueue(pid_t process, int number, const union sigval value) {
  if (process == getpid()) weft_raises(number);
  return (__extension__(__typeof__(&sigqueue)) dlsym(RTLD_NEXT, "sigqueue"))(process, number, value);
}

REPLACES int kill(pid_t process, int number) {
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
