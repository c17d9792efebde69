/* What AddressSanitizer and LeakSanitizer of a program ask for, unless it says so itself: a rank's stack is none of the
   thread, beyond whose stack their usual way of looking for callers does not go. Memory without a caller counts as the
   loader's, and no leak of a rank would be found. */
#include "process/life/program_replaces.h"

LINKED_AS(sanitizers);

REPLACES const char* __asan_default_options(void) { return "fast_unwind_on_malloc=0"; }
REPLACES const char* __lsan_default_options(void) { return "fast_unwind_on_malloc=0"; }
