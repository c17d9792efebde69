/* The C library's function of this name, behind a file that stands before it. */
#ifndef WEFT_PROCESS_LIFE_C_LIBRARY_H
#define WEFT_PROCESS_LIFE_C_LIBRARY_H
#include <dlfcn.h>

#define OF_LIBC(function) (__extension__(__typeof__(&function)) dlsym(RTLD_NEXT, #function))

/* Declares `next`, which is looked up once; twice where two threads come at once. */
#define NEXT(function)               \
  static __typeof__(&function) next; \
  if (next == NULL) next = OF_LIBC(function)

#endif
