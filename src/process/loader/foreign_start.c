/* How an executable starts that another compiler has linked to libmpi_abi or libmpi.so.12: that library brings this one along, before the C
   library, so that the executable's start file calls this in the C library's place. Each copy of the executable has
   a copy of this library. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/life/program_begin.h"
#include "process/loader/start.h"

const struct weft_program weft_program = {
    weft_program_version, NULL, {&environ, weft_begin_copy, getenv, setenv, putenv, unsetenv}};

/* --- main() of a copy, which has no name: the start file hands it over ---------------------------------------- */

static weft_main_function* found;
static int is_looked_for;
static jmp_buf found_at;

/* The start file takes the words that the kernel puts on the stack of a program: here, none. Below them the stack is free. */
static __attribute__((noinline, noreturn)) void enter(void (*start_file)(void)) {
  enum { words = 16 };
  void** const stack = (void**)(((size_t)__builtin_alloca((words + 2) * sizeof(void*)) + 15) & ~(size_t)15);
  memset(stack, 0, words * sizeof *stack);
#if defined(__x86_64__)
  __asm__ volatile(
      "movq %0, %%rsp\n"
      "xorl %%edx, %%edx\n"
      "jmpq *%1\n" ::"r"(stack), "r"(start_file)
      : "rdx", "memory");
#elif defined(__aarch64__)
  __asm__ volatile(
      "mov sp, %0\n"
      "mov x0, #0\n"
      "br %1\n" ::"r"(stack), "r"(start_file)
      : "x0", "memory");
#else
#error "weft programs need x86-64 or aarch64"
#endif
  __builtin_unreachable();
}

weft_main_function* weft_find_main(void (*start_file)(void)) {
  is_looked_for = 1;
  if (setjmp(found_at) == 0) enter(start_file);
  is_looked_for = 0;
  return found;
}

/* --- The start ------------------------------------------------------------------------------------------------ */

/* weftrun preloads the library of MPI, so that no other is found. What the program starts is another program. */
static int is_library_of_mpi(const char* name, size_t length) {
  static const char* const names[] = {"libmpi_abi.so.0", "libmpi_abi.so.1", "libmpi.so.12", "libmpich.so.12", "libmpi.so.40"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (strlen(names[i]) == length && strncmp(name, names[i], length) == 0) return 1;
  return 0;
}
static void drop_preloaded_library(void) {
  const char* const list = getenv("LD_PRELOAD");
  if (list == NULL || strstr(list, "libmpi") == NULL) return;
  char* const rest = malloc(strlen(list) + 1);
  if (rest == NULL) return;
  char* end = rest;
  for (const char* word = list; *word != '\0';) {
    const size_t length = strcspn(word, ": ");
    const char* const slash = memrchr(word, '/', length);
    const char* const name = slash != NULL ? slash + 1 : word;
    if (length != 0 && !is_library_of_mpi(name, length - (size_t)(name - word))) {
      if (end != rest) *end++ = ':';
      end = mempcpy(end, word, length);
    }
    word += length + (word[length] != '\0');
  }
  *end = '\0';
  if (end != rest)
    setenv("LD_PRELOAD", rest, 1);
  else
    unsetenv("LD_PRELOAD");
  free(rest);
}

weft_start_function __libc_start_main;

int __libc_start_main(weft_main_function* main, int argc, char** argv, void (*begin)(void), void (*end)(void),
                      void (*end_of_loader)(void), void* stack) {
  if (is_looked_for) {
    found = main;
    longjmp(found_at, 1);
  }
  drop_preloaded_library();
  return weft_start_program(main, argc, argv, begin, end, end_of_loader, stack);
}
