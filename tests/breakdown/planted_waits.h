/* What programs that plant waits share: PROGRAM FIRST COUNT runs so many of its modes, each five times. In a mode rank 0 works, and
   rank 1 waits for it. Rank 1 prints for each "planted NAME STATE WAITED", where STATE has '_' for ' '. */
#ifndef PLANTED_WAITS_H
#define PLANTED_WAITS_H
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { rounds = 5 };
static const double step = 0.02;

static long round_now; /* The first is 1. */
static double waited;
static volatile double sink;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static void work(void) {
  for (const double end = now() + step; now() < end;)
    for (int i = 0; i < 200; ++i) sink = sink * 0.5 + 1;
}

/* Rank 1 waits in it. */
#define TIMED(...)                   \
  do {                               \
    const double timed_from = now(); \
    __VA_ARGS__;                     \
    waited += now() - timed_from;    \
  } while (0)

/* A mode is a function of its own, by whose name reports say where the wait is. */
#define MODE(name) static __attribute__((noinline)) void name(void)
struct mode {
  const char *name, *state;
  void (*run)(void);
};
#define WAITS(name, state) {#name, state, name}

/* `meet` returns when all ranks have come to it. */
static void run_modes(int argc, char** argv, const struct mode* modes, int all, int rank, void (*meet)(void)) {
  const int first = argc > 1 ? atoi(argv[1]) : 0, count = argc > 2 ? atoi(argv[2]) : 1000;
  for (int m = first; m < all && m < first + count; ++m) {
    meet();
    waited = 0;
    for (round_now = 1; round_now <= rounds; ++round_now) modes[m].run();
    if (rank == 1) printf("planted %s %s %.6f\n", modes[m].name, modes[m].state, waited);
  }
  if (rank == 1) printf("modes %d, %.6f each\n", all, rounds * step);
}
#endif
