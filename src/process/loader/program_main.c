/* How any program of weft's begins its main(), and what a copy of it has of its own in place of the C library's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process/life/program.h"
#include "process/life/program_begin.h"
#include "process/loader/start.h"

typedef void constructor(int, char**, char**);
typedef void destructor(void);

/* --- Constructors and destructors, which may call MPI: they run in the rank ----------------------------------- */

static constructor* first_constructor;
static constructor** constructors;
static destructor** destructors;
static size_t constructors_left, destructors_left;

static void construct(int argc, char** argv, char** environment) {
  if (first_constructor != NULL) first_constructor(argc, argv, environment);
  for (size_t i = 0; i < constructors_left; ++i) constructors[i](argc, argv, environment);
}

extern void __cxa_finalize(void* object);
extern void* const __dso_handle __attribute__((visibility("hidden")));

/* Handlers of atexit() and destructors of objects first, as exit() has them. Also when one of them has called exit(): the
   others go on. */
static void destroy(void) {
  __cxa_finalize(__dso_handle);
  while (destructors_left > 0) destructors[--destructors_left]();
}

/* The loader has made what it has read unwritable. */
static int write_number(ElfW(Dyn) * entry, size_t number) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char* const begin = (char*)((size_t)entry & -page);
  const size_t size = (size_t)((char*)(entry + 1) - begin);
  if (mprotect(begin, size, PROT_READ | PROT_WRITE) != 0) return -1;
  entry->d_un.d_val = number;
  mprotect(begin, size, PROT_READ);
  return 0;
}

/* Takes them from the C library. The first object is the program. */
static int take_over(struct dl_phdr_info* program, size_t size, void* taken) {
  (void)size;
  ElfW(Dyn)* entry = NULL;
  for (int i = 0; i < program->dlpi_phnum; ++i)
    if (program->dlpi_phdr[i].p_type == PT_DYNAMIC)
      entry = (ElfW(Dyn)*)(program->dlpi_addr + program->dlpi_phdr[i].p_vaddr);
  /* At the address of its file: its handlers of atexit() cannot be told from those of the C library. */
  if (entry == NULL || program->dlpi_addr == 0) return 1;
  ElfW(Dyn)* destructors_size = NULL;
  for (; entry->d_tag != DT_NULL; ++entry) {
    char* const place = (char*)program->dlpi_addr + entry->d_un.d_ptr;
    if (entry->d_tag == DT_INIT) first_constructor = (__extension__(constructor*)place);
    if (entry->d_tag == DT_INIT_ARRAY) constructors = (constructor**)place;
    if (entry->d_tag == DT_FINI_ARRAY) destructors = (destructor**)place;
    if (entry->d_tag == DT_INIT_ARRAYSZ) constructors_left = entry->d_un.d_val / sizeof *constructors;
    if (entry->d_tag == DT_FINI_ARRAYSZ) destructors_size = entry;
  }
  if (destructors_size != NULL) {
    const size_t count = destructors_size->d_un.d_val / sizeof *destructors;
    if (write_number(destructors_size, 0) != 0) return 1;
    destructors_left = count;
  }
  *(int*)taken = 1;
  return 1;
}

static void construct_nothing(int argc, char** argv, char** environment) {
  (void)argc;
  (void)argv;
  (void)environment;
}
static void destroy_nothing(void) {}

/* --- The start ------------------------------------------------------------------------------------------------ */

static struct weft_own_code code = {NULL, construct_nothing, destroy_nothing};

static int run(int argc, char** argv, char** environment) {
  (void)environment;
  return weft_run_alone(&code, argc, argv);
}

/* Before any constructor of the program: that is the C library's next step, unless it is given another one. */
int weft_start_program(weft_main_function* main, int argc, char** argv, void (*begin)(void), void (*end)(void),
                       void (*end_of_loader)(void), void* stack) {
  weft_become_host(argc, argv);
  code.main = main;
  int taken = 0;
  dl_iterate_phdr(take_over, &taken);
  if (taken) {
    code.construct = construct;
    code.destroy = destroy;
    begin = destroy_nothing;
  }
  weft_start_function* const start = __extension__(weft_start_function*)dlsym(RTLD_NEXT, "__libc_start_main");
  return start(run, argc, argv, begin, end, end_of_loader, stack);
}

void weft_begin_copy(char** environment, void* standard_input, void* standard_output, void* standard_error) {
  weft_begin_environment(environment);
  weft_begin_input(standard_input);
  weft_begin_output(standard_output, standard_error);
}
