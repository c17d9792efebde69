/* A library whose constructor lets other threads and ranks run. */
#include <unistd.h>

static int constructed;
static __attribute__((constructor)) void begin(void) {
  usleep(100000);
  ++constructed;
}
int slow_constructed(void) { return constructed; }
