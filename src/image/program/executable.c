/* How any program of weft's starts. One that was linked as an executable, by flags or because its objects allow nothing
   else, begins in the C library's start file, which calls this by the C library's name: only executables do, so
   that a library which is linked with the same flags gets none of it. One of weftcc's begins in start.c. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

#include "image/start.h"
#include "program/program.h"

typedef int main_function(int, char**, char**);
typedef int start_function(main_function*, int, char**, void (*)(void), void (*)(void), void (*)(void), void*);

extern const struct weft_program weft_program; /* Links start.c to executables. */

static int run(int argc, char** argv, char** environment) {
  (void)environment;
  return weft_run_main(weft_program.main, argc, argv);
}

__attribute__((visibility("hidden"))) start_function __libc_start_main;

/* Before any constructor of the program: that is the C library's next step. */
int __libc_start_main(main_function* main, int argc, char** argv, void (*begin)(void), void (*end)(void),
                      void (*end_of_loader)(void), void* stack) {
  (void)main;
  weft_become_host(argc, argv);
  start_function* const start = __extension__(start_function*)dlsym(RTLD_NEXT, "__libc_start_main");
  return start(run, argc, argv, begin, end, end_of_loader, stack);
}
