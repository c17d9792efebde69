/* datatypes.c again, with the constructors and messages of large counts. */
#define LARGE_COUNTS
#include "datatypes.c"
