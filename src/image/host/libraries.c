/* Libraries that a copy of a program opens are its rank's own. Optimised in each build: the loader is to see who
   calls, and does when this is a jump. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "image/start.h"

typedef void* open_function(const char*, int);
typedef int close_function(void*);
typedef char* error_function(void);

static open_function* next_open;
static close_function* next_close;
static error_function* next_error;

/* Not when an error waits to be told: dlsym() would forget it. */
static __attribute__((constructor)) void find_next(void) {
  if (next_open != 0) return;
  next_close = (__extension__(close_function*)dlsym(RTLD_NEXT, "dlclose"));
  next_error = (__extension__(error_function*)dlsym(RTLD_NEXT, "dlerror"));
  next_open = (__extension__(open_function*)dlsym(RTLD_NEXT, "dlopen"));
}

void* dlopen(const char* path, int flags) {
  void* handle;
  find_next();
  if (weft_open_library(path, flags, __builtin_return_address(0), &handle)) return handle;
  return next_open(path, flags);
}

int dlclose(void* handle) {
  int failed;
  find_next();
  if (weft_close_library(handle, &failed)) return failed;
  return next_close(handle);
}

char* dlerror(void) {
  find_next();
  char* const own = (char*)weft_open_error();
  return own != 0 ? own : next_error();
}
