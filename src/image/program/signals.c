/* Signals reach the process, hence all its ranks: what one rank does with them is told. */
#define _GNU_SOURCE
#include <errno.h>
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
  if (sigaddset(&one, number) != 0) return -1;
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
