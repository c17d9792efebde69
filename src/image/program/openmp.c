/* Where a rank waits for threads of its OpenMP team, it lets other ranks run: these threads may wait for them in
   MPI. Linked to programs that use OpenMP as gcc has it; its own run time does the rest. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "image/program/replaces.h"
#include "rank/program.h"

/* Of the run time, which the linker leaves out when nothing else but what stands here is used of it. */
extern int omp_get_thread_num(void);
extern int omp_get_num_threads(void);

#define NEXT(function) (__extension__(__typeof__(&function)) dlsym(RTLD_NEXT, #function))

/* --- Regions and their barriers ------------------------------------------------------------------ */

static void run_in_region(void* argument) {
  struct weft_region* const region = argument;
  const unsigned member = (unsigned)omp_get_thread_num();
  weft_enter_region(region, member, (unsigned)omp_get_num_threads());
  region->body(region->argument);
  weft_leave_region(region, member);
}

/* A function that begins a region, has its threads run `body(argument)` and returns at the region's end. */
#define REGION(type, name, parameters, values, result)                                       \
  REPLACES type name parameters;                                                             \
  type name parameters {                                                                     \
    static __typeof__(&name) next;                                                           \
    if (next == NULL) next = NEXT(name);                                                     \
    struct weft_region region;                                                               \
    weft_begin_region(&region, body, argument);                                              \
    result next values;                                                                      \
    weft_end_region(&region);                                                                \
    KEPT_##type                                                                              \
  }
#define KEPT_void
#define KEPT_unsigned return kept;
REGION(void, GOMP_parallel,
       (void (*body)(void*), void* argument, unsigned threads, unsigned flags),
       (run_in_region, &region, threads, flags), )
REGION(unsigned, GOMP_parallel_reductions,
       (void (*body)(void*), void* argument, unsigned threads, unsigned flags),
       (run_in_region, &region, threads, flags), const unsigned kept =)
REGION(void, GOMP_parallel_sections,
       (void (*body)(void*), void* argument, unsigned threads, unsigned count, unsigned flags),
       (run_in_region, &region, threads, count, flags), )
#define LOOP(name)                                                                              \
  REGION(void, GOMP_parallel_loop_##name,                                                       \
         (void (*body)(void*), void* argument, unsigned threads, long start, long end, long by, \
          long chunk, unsigned flags),                                                          \
         (run_in_region, &region, threads, start, end, by, chunk, flags), )
#define LOOP_AT_RUN_TIME(name)                                                                  \
  REGION(void, GOMP_parallel_loop_##name,                                                       \
         (void (*body)(void*), void* argument, unsigned threads, long start, long end, long by, \
          unsigned flags),                                                                      \
         (run_in_region, &region, threads, start, end, by, flags), )
LOOP(static)
LOOP(dynamic)
LOOP(guided)
LOOP(nonmonotonic_dynamic)
LOOP(nonmonotonic_guided)
LOOP_AT_RUN_TIME(runtime)
LOOP_AT_RUN_TIME(nonmonotonic_runtime)
LOOP_AT_RUN_TIME(maybe_nonmonotonic_runtime)

#define BARRIER(type, name, keyword)     \
  REPLACES type name(void);              \
  type name(void) {                      \
    static __typeof__(&name) next;       \
    if (next == NULL) next = NEXT(name); \
    weft_meet_in_region();               \
    keyword next();                      \
  }
BARRIER(void, GOMP_barrier, )
BARRIER(void, GOMP_loop_end, )
BARRIER(void, GOMP_sections_end, )
BARRIER(bool, GOMP_barrier_cancel, return)
BARRIER(bool, GOMP_loop_end_cancel, return)
BARRIER(bool, GOMP_sections_end_cancel, return)

/* --- Locks ----------------------------------------------------------------------------------------- */

enum { unlocked, locked, contended }; /* The last: somebody sleeps in the kernel. */
enum { looks_max = 200 };

static bool try_lock(atomic_int* lock) {
  int expected = unlocked;
  return atomic_load_explicit(lock, memory_order_relaxed) == unlocked &&
         atomic_compare_exchange_strong_explicit(lock, &expected, locked, memory_order_acquire,
                                                 memory_order_relaxed);
}

static void take_lock(atomic_int* lock) {
  for (int left = looks_max; left > 0; --left)
    if (try_lock(lock)) return;
  for (long long rest = 0; weft_lets_others_run(&rest);)
    if (try_lock(lock)) return;
  while (atomic_exchange_explicit(lock, contended, memory_order_acquire) != unlocked)
    syscall(SYS_futex, lock, FUTEX_WAIT_PRIVATE, contended, NULL, NULL, 0);
}

static void give_lock(atomic_int* lock) {
  if (atomic_exchange_explicit(lock, unlocked, memory_order_release) == contended)
    syscall(SYS_futex, lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* The lock of a section with a name is the program's, in memory that the compiler has set to zero. */
static atomic_int of_sections_without_name;
REPLACES void GOMP_critical_start(void) {
  take_lock(&of_sections_without_name);
}
REPLACES void GOMP_critical_end(void) {
  give_lock(&of_sections_without_name);
}
REPLACES void GOMP_critical_name_start(void** section) {
  take_lock((atomic_int*)section);
}
REPLACES void GOMP_critical_name_end(void** section) {
  give_lock((atomic_int*)section);
}

#define LOCK(set, test)                           \
  extern int test(void* lock) __attribute__((weak)); \
  REPLACES void set(void* lock);                  \
  void set(void* lock) {                          \
    static __typeof__(&set) next;                 \
    if (next == NULL) next = NEXT(set);           \
    for (long long rest = 0; test(lock) == 0;)    \
      if (!weft_lets_others_run(&rest)) return next(lock); \
  }
LOCK(omp_set_lock, omp_test_lock)
LOCK(omp_set_nest_lock, omp_test_nest_lock)
LOCK(omp_set_lock_, omp_test_lock_)
LOCK(omp_set_nest_lock_, omp_test_nest_lock_)
