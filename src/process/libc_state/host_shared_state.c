/* What a process has once and ranks change as if each had its own: made theirs, or told with `check`. */
#define _GNU_SOURCE
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "process/life/shared_state.h"
#include "process/life/c_library.h"
#include "process/signals/own_number.h"

/* --- Limits and priorities: the process's, or the worker's thread's --------------------------------------------- */

static void tell_limit(__rlimit_resource_t which, rlim_t now) {
  static const char* const names[] = {"RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_DATA", "RLIMIT_STACK", "RLIMIT_CORE", "RLIMIT_RSS",
                                      "RLIMIT_NPROC", "RLIMIT_NOFILE", "RLIMIT_MEMLOCK", "RLIMIT_AS"};
  char value[32] = "unlimited";
  if (now != RLIM_INFINITY) snprintf(value, sizeof value, "%llu", (unsigned long long)now);
  weft_shares((unsigned)which < sizeof names / sizeof *names ? names[which] : "a limit of resources", value);
}
int setrlimit(__rlimit_resource_t which, const struct rlimit* limit) {
  const int failed = OF_LIBC(setrlimit)(which, limit);
  if (failed == 0) tell_limit(which, limit->rlim_cur);
  return failed;
}
int setrlimit64(__rlimit_resource_t which, const struct rlimit64* limit) {
  const int failed = OF_LIBC(setrlimit64)(which, limit);
  if (failed == 0) tell_limit(which, (rlim_t)limit->rlim_cur);
  return failed;
}
int prlimit(pid_t process, __rlimit_resource_t which, const struct rlimit* limit, struct rlimit* before) {
  const int failed = OF_LIBC(prlimit)(weft_is_own_number(process) ? 0 : process, which, limit, before);
  if (failed == 0 && limit != NULL && (process == 0 || process == getpid() || weft_is_own_number(process))) tell_limit(which, limit->rlim_cur);
  return failed;
}
int getpriority(__priority_which_t which, id_t whom) {
  return OF_LIBC(getpriority)(which, which == PRIO_PROCESS && weft_is_own_number((pid_t)whom) ? 0 : whom);
}
int setpriority(__priority_which_t which, id_t whom, int priority) {
  if (which == PRIO_PROCESS && weft_is_own_number((pid_t)whom)) whom = 0;
  const int failed = OF_LIBC(setpriority)(which, whom, priority);
  char value[16];
  snprintf(value, sizeof value, "%d", priority);
  if (failed == 0 && which == PRIO_PROCESS && whom == 0) weft_shares("the nice value", value);
  return failed;
}

char* setlocale(int category, const char* name) {
  char* const now = OF_LIBC(setlocale)(category, name);
  if (name != NULL && now != NULL) {
    static const char* const names[] = {"LC_CTYPE", "LC_NUMERIC", "LC_TIME", "LC_COLLATE",
                                        "LC_MONETARY", "LC_MESSAGES", "LC_ALL"};
    const int known = category >= 0 && category < (int)(sizeof names / sizeof *names);
    weft_shares(known ? names[category] : "a category of the locale", now);
  }
  return now;
}
