/* A rank that waits for threads of its OpenMP team lets other ranks run: these threads may wait for them in MPI. This is linked to
   programs that use OpenMP as gcc has it; gcc's run time does the rest. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "process/blocking/regions.h"
#include "process/blocking/yielding.h"
#include "process/life/program_replaces.h"

LINKED_AS(openmp);

/* The linker leaves the run time out when nothing but what stands here is used of it. */
extern int omp_get_thread_num(void);
extern int omp_get_num_threads(void);

/* `next`: the function of this name behind the program. */
#define FIND_NEXT(name)                                                            \
  static _Atomic(__typeof__(&name)) known;                                         \
  __typeof__(&name) next = atomic_load_explicit(&known, memory_order_relaxed);     \
  if (next == NULL) {                                                              \
    next = (__extension__(__typeof__(&name)) dlsym(RTLD_NEXT, #name));             \
    /* The run time may come before this in the order of names, where a library brings MPI. */ \
    if (next == NULL) next = (__extension__(__typeof__(&name)) dlsym(RTLD_DEFAULT, #name));    \
    atomic_store_explicit(&known, next, memory_order_relaxed);                     \
  }

/* --- Regions and their barriers ------------------------------------------------------------------ */

static void run_part(void* region) {
  weft_run_part(region, (unsigned)omp_get_thread_num(), (unsigned)omp_get_num_threads());
}

/* A function that begins a region, has its threads run `body(argument)` and returns at the region's end. */
#define REGION(name, parameters, values)                                               \
  REPLACES void name parameters;                                                       \
  void name parameters {                                                               \
    FIND_NEXT(name)                                                                    \
    struct weft_region* outer;                                                         \
    struct weft_region* const region = weft_begin_region(body, argument, &outer);      \
    if (region != NULL) {                                                              \
      body = run_part;                                                                 \
      argument = region;                                                               \
    }                                                                                  \
    next values;                                                                       \
    weft_end_region(outer);                                                            \
  }
REGION(GOMP_parallel, (void (*body)(void*), void* argument, unsigned threads, unsigned flags),
       (body, argument, threads, flags))
REGION(GOMP_parallel_sections,
       (void (*body)(void*), void* argument, unsigned threads, unsigned count, unsigned flags),
       (body, argument, threads, count, flags))
#define LOOP(name)                                                                       \
  REGION(GOMP_parallel_loop_##name,                                                      \
         (void (*body)(void*), void* argument, unsigned threads, long start, long end,   \
          long by, long chunk, unsigned flags),                                          \
         (body, argument, threads, start, end, by, chunk, flags))
#define LOOP_AT_RUN_TIME(name)                                                           \
  REGION(GOMP_parallel_loop_##name,                                                      \
         (void (*body)(void*), void* argument, unsigned threads, long start, long end,   \
          long by, unsigned flags),                                                      \
         (body, argument, threads, start, end, by, flags))
LOOP(static)
LOOP(dynamic)
LOOP(guided)
LOOP(nonmonotonic_dynamic)
LOOP(nonmonotonic_guided)
LOOP_AT_RUN_TIME(runtime)
LOOP_AT_RUN_TIME(nonmonotonic_runtime)
LOOP_AT_RUN_TIME(maybe_nonmonotonic_runtime)

/* The run time looks at what the argument points to before there is a team. */
REPLACES unsigned GOMP_parallel_reductions(void (*body)(void*), void* argument, unsigned threads,
                                           unsigned flags) {
  FIND_NEXT(GOMP_parallel_reductions)
  struct weft_region* outer;
  weft_begin_region(NULL, NULL, &outer);
  const unsigned team = next(body, argument, threads, flags);
  weft_end_region(outer);
  return team;
}

#define BARRIER(type, name, keyword)     \
  REPLACES type name(void);              \
  type name(void) {                      \
    FIND_NEXT(name)                      \
    weft_meet_in_region();               \
    keyword next();                      \
  }
BARRIER(void, GOMP_barrier, )
BARRIER(void, GOMP_loop_end, )
BARRIER(void, GOMP_sections_end, )
BARRIER(bool, GOMP_barrier_cancel, return)
BARRIER(bool, GOMP_loop_end_cancel, return)
BARRIER(bool, GOMP_sections_end_cancel, return)

/* Tasks run while others wait in a barrier. The compilers that we know pass fewer parameters. */
#define TASK(name)                                                                                  \
  REPLACES void name(void* a, void* b, void* c, long d, long e, long f, long g, long h, long i,     \
                     long j, long k) {                                                              \
    FIND_NEXT(name)                                                                                 \
    weft_has_tasks();                                                                               \
    next(a, b, c, d, e, f, g, h, i, j, k);                                                          \
  }
TASK(GOMP_task)
TASK(GOMP_taskloop)
TASK(GOMP_taskloop_ull)

/* --- Locks ----------------------------------------------------------------------------------------- */

/* The lock of a section with a name is the program's, in memory that the compiler has set to zero. */
static unsigned of_sections_without_name;
REPLACES void GOMP_critical_start(void) {
  weft_take_lock(&of_sections_without_name);
}
REPLACES void GOMP_critical_end(void) {
  weft_give_lock(&of_sections_without_name);
}
REPLACES void GOMP_critical_name_start(void** section) {
  weft_take_lock((unsigned*)section);
}
REPLACES void GOMP_critical_name_end(void** section) {
  weft_give_lock((unsigned*)section);
}

#define LOCK(set, test)                                    \
  extern int test(void* lock) __attribute__((weak));       \
  REPLACES void set(void* lock);                           \
  void set(void* lock) {                                   \
    FIND_NEXT(set)                                         \
    for (long long rest = 0; test(lock) == 0;)             \
      if (!weft_lets_others_run(&rest)) return next(lock); \
  }
LOCK(omp_set_lock, omp_test_lock)
LOCK(omp_set_nest_lock, omp_test_nest_lock)
LOCK(omp_set_lock_, omp_test_lock_)
LOCK(omp_set_nest_lock_, omp_test_nest_lock_)
