/* A library as anybody builds it: it knows nothing of weft. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static int calls;
int library_calls(void) { return ++calls; }
int library_random(void) { return rand(); }
const char* library_variable(const char* name) { return getenv(name); }
int library_index(void) { return optind; }
/* Of this name there is one in the C library. */
int error(int a, int b) { return a * 10 + b; }
int library_error(void) { return error(4, 2); }
