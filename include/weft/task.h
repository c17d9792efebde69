/* The former name of weft/loop.h, for programs that include it; it goes with the next release. Tasks are in
   weft/tasks.hpp. */
#ifndef WEFT_TASK_H
#define WEFT_TASK_H
#include <weft/loop.h>
#endif
