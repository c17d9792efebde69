/* Handlers of on_exit() run when their rank ends, among those of atexit(). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

#include "process/life/caller.h"
#include "process/life/program.h"
#include "process/life/program_replaces.h"

LINKED_AS(on_exit);

/* The compiler's own atexit() registers here, too: with the file that the handler belongs to. */
extern int __cxa_atexit(void (*handler)(void*), void* argument, void* file);
extern void* const __dso_handle __attribute__((visibility("hidden")));

struct exit_handler {
  void (*function)(int, void*);
  void* argument;
};

static void call(void* handler) {
  const struct exit_handler one = *(struct exit_handler*)handler;
  free(handler);
  one.function(weft_exit_status(), one.argument);
}

REPLACES int on_exit(void (*function)(int, void*), void* argument) {
  if (weft_own() == NULL) {
    int (*const of_libc)(void (*)(int, void*), void*) =
        (__extension__(int (*)(void (*)(int, void*), void*))dlsym(RTLD_NEXT, "on_exit"));
    return of_libc(function, argument);
  }
  struct exit_handler* const one = malloc(sizeof *one);
  if (one == NULL) return -1;
  one->function = function;
  one->argument = argument;
  return __cxa_atexit(call, one, (void*)&__dso_handle);
}
