/* Calendar functions with a result of each rank. */
#include <time.h>

#include "process/life/program_replaces.h"

LINKED_AS(calendar);

static struct tm broken_down;
static char text[64];

static struct tm* local(const time_t* time) {
  tzset();
  return localtime_r(time, &broken_down);
}

REPLACES struct tm* localtime(const time_t* time) {
  return local(time);
}
REPLACES struct tm* gmtime(const time_t* time) { return gmtime_r(time, &broken_down); }
REPLACES char* asctime(const struct tm* time) { return asctime_r(time, text); }
REPLACES char* ctime(const time_t* time) {
  const struct tm* const now = local(time);
  return now != NULL ? asctime_r(now, text) : NULL;
}
