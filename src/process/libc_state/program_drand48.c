/* drand48() and its kin with a state of each rank; the same numbers as the C library's. */
#include <stdlib.h>
#include <string.h>

#include "process/life/program_replaces.h"

LINKED_AS(drand48);

static struct drand48_data state;

REPLACES double drand48(void) {
  double number;
  drand48_r(&state, &number);
  return number;
}
REPLACES double erand48(unsigned short from[3]) {
  double number;
  erand48_r(from, &state, &number);
  return number;
}
REPLACES long lrand48(void) {
  long number;
  lrand48_r(&state, &number);
  return number;
}
REPLACES long nrand48(unsigned short from[3]) {
  long number;
  nrand48_r(from, &state, &number);
  return number;
}
REPLACES long mrand48(void) {
  long number;
  mrand48_r(&state, &number);
  return number;
}
REPLACES long jrand48(unsigned short from[3]) {
  long number;
  jrand48_r(from, &state, &number);
  return number;
}
REPLACES void srand48(long seed) { srand48_r(seed, &state); }
REPLACES unsigned short* seed48(unsigned short seed[3]) {
  static unsigned short before[3];
  memcpy(before, state.__x, sizeof before);
  seed48_r(seed, &state);
  return before;
}
REPLACES void lcong48(unsigned short parameters[7]) { lcong48_r(parameters, &state); }
