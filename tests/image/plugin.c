/* A library that a program opens: it holds state, calls the program back, and may need another one. */
#include <stdio.h>

int program_number(void);
extern int program_total;

static int calls;
int plugin_value = 100;
int* plugin_place = &plugin_value;

#ifdef WITH_SECOND
int second_count(void);
int plugin_second(void) { return second_count(); }
#endif
#ifdef WITH_UNKNOWN
int nobody_defines_this(void);
int plugin_unknown(void) { return nobody_defines_this(); }
#endif

static __attribute__((constructor)) void begin(void) { plugin_value += program_number(); }
static __attribute__((destructor)) void end(void) { program_total += calls; }

int plugin_count(void) {
  if (plugin_place != &plugin_value) return -1;
  return ++calls;
}
