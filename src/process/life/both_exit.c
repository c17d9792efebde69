/* A rank that calls exit(), _exit() or quick_exit() ends; its process goes on for the others. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/life/program.h"
#include "process/life/program_replaces.h"

LINKED_AS(exit);

REPLACES __attribute__((noreturn)) void exit(int status) {
  weft_exit(status);
  __extension__ void (*const of_libc)(int) = (void (*)(int))dlsym(RTLD_NEXT, "exit");
  of_libc(status);
  __builtin_unreachable();
}

/* No handler and no destructor runs, neither of the rank nor of the process. */
static __attribute__((noreturn)) void end_at_once(int status) {
  weft_exit_at_once(status);
  for (;;) syscall(SYS_exit_group, status);
}

REPLACES __attribute__((noreturn)) void _exit(int status) { end_at_once(status); }
REPLACES __attribute__((noreturn)) void _Exit(int status) { end_at_once(status); }

/* The C library would keep one list for all ranks, and of addresses in their copies. */
#define BLOCK 32
struct block {
  struct block* before;
  void (*handlers[BLOCK])(void);
};
static struct block first;
static struct block* newest = &first;
static int used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

REPLACES int at_quick_exit(void (*handler)(void)) {
  int failed = 0;
  pthread_mutex_lock(&lock);
  if (used == BLOCK) {
    struct block* const more = calloc(1, sizeof *more);
    failed = more == NULL;
    if (!failed) {
      more->before = newest;
      newest = more;
      used = 0;
    }
  }
  if (!failed) newest->handlers[used++] = handler;
  pthread_mutex_unlock(&lock);
  return failed ? -1 : 0;
}

REPLACES __attribute__((noreturn)) void quick_exit(int status) {
  for (; newest != NULL; newest = newest->before, used = BLOCK)
    while (used > 0) newest->handlers[--used]();
  end_at_once(status);
}
