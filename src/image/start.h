/* Called by the start code of every program that weftcc links, before its constructors. */
#ifndef WEFT_IMAGE_START_H
#define WEFT_IMAGE_START_H
#include "rank/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a program tells of itself, in its symbol weft_program. */
enum { weft_program_version = 2 };
struct weft_program {
  unsigned version;
  int (*main)(int, char**, char**);
  struct weft_own_state own;
};

/* Returns when the program is one rank; otherwise this process becomes the host of its copies, and
   the call does not return. */
void weft_become_host(int argc, char** argv);

#ifdef __cplusplus
}
#endif
#endif
