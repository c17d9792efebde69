/* A program says and asks with the process number of the calling rank (process/signals/own_number.h). Code that ranks share, and the
   kernel by raw calls, know that of the process. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/life/caller.h"
#include "process/signals/own_number.h"

static pid_t of_process(void) { return (pid_t)syscall(SYS_getpid); }
static pid_t own(const void* from) { return weft_is_private(from) ? weft_own_number() : 0; }

pid_t getpid(void) {
  const pid_t number = own(__builtin_return_address(0));
  return number != 0 ? number : of_process();
}
/* The first thread of a process has its number. */
pid_t gettid(void) {
  const pid_t number = weft_is_ranks_own_thread() ? own(__builtin_return_address(0)) : 0;
  return number != 0 && number != of_process() ? number : (pid_t)syscall(SYS_gettid);
}
/* The parent of a child that a rank has forked is the rank. */
pid_t getppid(void) {
  static pid_t host; /* Set before there are children. */
  if (host == 0) host = of_process();
  const pid_t parent = (pid_t)syscall(SYS_getppid);
  const pid_t number = parent == host && of_process() != host ? weft_number_of_parent() : 0;
  return number != 0 ? number : parent;
}
static __attribute__((constructor)) void note_host(void) { getppid(); }

int tgkill(pid_t process, pid_t thread, int number) {
  if (weft_is_own_number(process) && thread == process) return kill(process, number);
  return (int)syscall(SYS_tgkill, weft_is_own_number(process) ? of_process() : process, thread, number);
}

/* --- What the kernel keeps for a process, or for its thread --------------------------------------------------------- */

/* The caller's own is 0 there. */
static pid_t for_kernel(pid_t number) { return weft_is_own_number(number) ? 0 : number; }

pid_t getpgid(pid_t process) { return (pid_t)syscall(SYS_getpgid, for_kernel(process)); }
pid_t getsid(pid_t process) { return (pid_t)syscall(SYS_getsid, for_kernel(process)); }
/* A child is to join the rank's group, which is that of its process. */
int setpgid(pid_t process, pid_t group) {
  const pid_t whose = for_kernel(process);
  const pid_t to = whose != 0 && weft_is_own_number(group) ? (pid_t)syscall(SYS_getpgid, 0) : for_kernel(group);
  return (int)syscall(SYS_setpgid, whose, to);
}
int sched_getscheduler(pid_t thread) { return (int)syscall(SYS_sched_getscheduler, for_kernel(thread)); }
int sched_setscheduler(pid_t thread, int policy, const struct sched_param* how) {
  return (int)syscall(SYS_sched_setscheduler, for_kernel(thread), policy, how);
}
int sched_getparam(pid_t thread, struct sched_param* how) {
  return (int)syscall(SYS_sched_getparam, for_kernel(thread), how);
}
int sched_setparam(pid_t thread, const struct sched_param* how) {
  return (int)syscall(SYS_sched_setparam, for_kernel(thread), how);
}
