/* What the start code of every program that weftcc links calls, before its constructors, and what the host
   calls when a program opens libraries. */
#ifndef WEFT_PROCESS_LOADER_START_H
#define WEFT_PROCESS_LOADER_START_H
#include "process/life/caller.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a program tells of itself, in its symbol weft_program. */
enum { weft_program_version = 3 };
struct weft_program {
  unsigned version;
  int (*main)(int, char**, char**);
  struct weft_own_state own;
};

/* What a library tells of the executable that it is brought to: the main() that the executable's start file hands over. */
int (*weft_find_main(void (*start_file)(void)))(int, char**, char**);

/* Returns when the program is one rank; otherwise this process becomes the host of its copies, and
   the call does not return. */
void weft_become_host(int argc, char** argv);

/* dlopen() of the code at `caller`, and dlclose(). Not `own`: it is the loader's business. Returned by value, in
   registers: the host's calls of the loader's are jumps only where no address of a variable has been given away. */
struct weft_own_library {
  long own;
  void* handle;
};
struct weft_own_closing {
  int own;
  int failed;
};
struct weft_own_library weft_open_library(const char* path, int flags, const void* caller);
struct weft_own_closing weft_close_library(void* handle);
/* What dlerror() says of the last that failed, once; null when none has. */
const char* weft_open_error(void);

#ifdef __cplusplus
}
#endif
#endif
