/* Libraries that a copy of a program opens are its rank's own. Each build optimises this file: the loader is to see who calls, and does
   when this is a jump. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "process/loader/start.h"

typedef void* open_function(const char*, int);
typedef int close_function(void*);
typedef char* error_function(void);

static open_function* next_open;
static close_function* next_close;
static error_function* next_error;

/* It does nothing when an error waits to be told: dlsym() would forget that. */
static __attribute__((constructor)) void find_next(void) {
  if (next_open != 0) return;
  next_close = (__extension__(close_function*)dlsym(RTLD_NEXT, "dlclose"));
  next_error = (__extension__(error_function*)dlsym(RTLD_NEXT, "dlerror"));
  next_open = (__extension__(open_function*)dlsym(RTLD_NEXT, "dlopen"));
}

void* dlopen(const char* path, int flags) {
  find_next();
  const struct weft_own_library opened =
      weft_open_library(path, flags, __builtin_return_address(0));
  if (opened.own) return opened.handle;
  return next_open(path, flags);
}

int dlclose(void* handle) {
  find_next();
  const struct weft_own_closing closed = weft_close_library(handle);
  if (closed.own) return closed.failed;
  return next_close(handle);
}

char* dlerror(void) {
  find_next();
  /* The loader's is forgotten when one of ours comes: it is the newer one. */
  char* const own = (char*)weft_open_error();
  char* const of_loader = next_error();
  return of_loader != 0 ? of_loader : own;
}
