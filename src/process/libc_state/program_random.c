/* rand() and random() with a state of each rank; the same numbers as the C library's. */
#include <pthread.h>
#include <stdlib.h>

#include "process/life/program_replaces.h"

LINKED_AS(random);

static struct random_data generator;
static char first_state[128];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Called under the lock. */
static struct random_data* ready(void) {
  if (generator.state == NULL) initstate_r(1, first_state, sizeof first_state, &generator);
  return &generator;
}

static long next(void) {
  int32_t number = 0;
  pthread_mutex_lock(&lock);
  random_r(ready(), &number);
  pthread_mutex_unlock(&lock);
  return number;
}

static void begin(unsigned seed) {
  pthread_mutex_lock(&lock);
  srandom_r(seed, ready());
  pthread_mutex_unlock(&lock);
}

/* The C library hands out states from one word before the one that it works on. */
REPLACES char* initstate(unsigned seed, char* state, size_t size) {
  pthread_mutex_lock(&lock);
  char* const before = (char*)&ready()->state[-1];
  const int failed = initstate_r(seed, state, size, &generator);
  pthread_mutex_unlock(&lock);
  return failed ? NULL : before;
}

REPLACES char* setstate(char* state) {
  pthread_mutex_lock(&lock);
  char* const before = (char*)&ready()->state[-1];
  const int failed = setstate_r(state, &generator);
  pthread_mutex_unlock(&lock);
  return failed ? NULL : before;
}

REPLACES long random(void) { return next(); }
REPLACES void srandom(unsigned seed) { begin(seed); }
REPLACES int rand(void) { return (int)next(); }
REPLACES void srand(unsigned seed) { begin(seed); }
