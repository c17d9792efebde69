/* Calendar functions with a result of each rank. */
#include <time.h>

static struct tm broken_down;
static char text[64];

struct tm* localtime(const time_t* time) {
  tzset();
  return localtime_r(time, &broken_down);
}
struct tm* gmtime(const time_t* time) { return gmtime_r(time, &broken_down); }
char* asctime(const struct tm* time) { return asctime_r(time, text); }
char* ctime(const time_t* time) {
  const struct tm* const local = localtime(time);
  return local != NULL ? asctime(local) : NULL;
}
