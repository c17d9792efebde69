/* Standard input of a rank: that of the process for rank 0, an empty one for the others. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>

#include "process/life/program_begin.h"
#include "process/life/program_replaces.h"

LINKED_AS(input);

/* The object of the C library; where this is the process's only program, the C library uses this variable. */
extern FILE _IO_2_1_stdin_ __asm__("_IO_2_1_stdin_");
#undef stdin
FILE* stdin = &_IO_2_1_stdin_;

/* Functions that mean the variable without naming it. */
#undef getchar
#undef getchar_unlocked
REPLACES int getchar(void) { return getc(stdin); }
REPLACES int getchar_unlocked(void) { return getc_unlocked(stdin); }
/* The headers of the C library give scanf() one of the later names; each is a function of its own. */
#define READ_VALUES(symbol)                                                    \
  REPLACES int weft_##symbol(const char* format, ...) __asm__(#symbol);        \
  int weft_##symbol(const char* format, ...) {                                 \
    va_list values;                                                            \
    va_start(values, format);                                                  \
    const int count = vfscanf(stdin, format, values);                          \
    va_end(values);                                                            \
    return count;                                                              \
  }
#define READ_LIST(symbol)                                                      \
  REPLACES int weft_##symbol(const char* format, va_list values) __asm__(#symbol); \
  int weft_##symbol(const char* format, va_list values) { return vfscanf(stdin, format, values); }
READ_VALUES(scanf)
READ_VALUES(__isoc99_scanf)
READ_VALUES(__isoc23_scanf)
READ_LIST(vscanf)
READ_LIST(__isoc99_vscanf)
READ_LIST(__isoc23_vscanf)

void weft_begin_input(void* standard_input) {
  if (standard_input != NULL) stdin = standard_input;
}
