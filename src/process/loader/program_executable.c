/* How a program starts that was linked as an executable, by flags or because its objects allow nothing else: it begins in the
   C library's start file, which calls this by the C library's name. Only executables do, so that a library
   which is linked with the same flags gets none of it. One of weftcc's begins in program_start.c. */
#include "process/life/program_begin.h"
#include "process/loader/start.h"

extern const struct weft_program weft_program; /* Links program_start.c to executables. */

__attribute__((visibility("hidden"))) weft_start_function __libc_start_main;

int __libc_start_main(weft_main_function* main, int argc, char** argv, void (*begin)(void), void (*end)(void),
                      void (*end_of_loader)(void), void* stack) {
  (void)main;
  return weft_start_program(weft_program.main, argc, argv, begin, end, end_of_loader, stack);
}
