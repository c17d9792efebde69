/* Standard output and error of a rank as streams: those of all ranks at first, or what the program assigns to the variables. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE /* Its own definitions would stand in the way. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "process/life/program_begin.h"
#include "process/life/program_replaces.h"

LINKED_AS(printing);

/* The objects of the C library; where this is the process's only program, the C library uses these variables. */
extern FILE own_stdout __asm__("_IO_2_1_stdout_");
extern FILE own_stderr __asm__("_IO_2_1_stderr_");
#undef stdout
#undef stderr
FILE* stdout = &own_stdout;
FILE* stderr = &own_stderr;

/* Functions that mean a variable without naming it. */
#undef putchar
#undef putchar_unlocked
#undef putwchar
#undef putwchar_unlocked
REPLACES int putchar(int c) { return putc(c, stdout); }
REPLACES int putchar_unlocked(int c) { return putc_unlocked(c, stdout); }
REPLACES wint_t putwchar(wchar_t c) { return putwc(c, stdout); }
REPLACES wint_t putwchar_unlocked(wchar_t c) { return putwc_unlocked(c, stdout); }

REPLACES int puts(const char* text) {
  flockfile(stdout);
  const int written = fputs(text, stdout) < 0 || putc_unlocked('\n', stdout) < 0 ? EOF : 1;
  funlockfile(stdout);
  return written;
}

REPLACES int vprintf(const char* format, va_list words) { return vfprintf(stdout, format, words); }
REPLACES int vwprintf(const wchar_t* format, va_list words) { return vfwprintf(stdout, format, words); }
#define PRINT(name, type, print)                                    \
  REPLACES int name(const type* format, ...) {                      \
    va_list words;                                                  \
    va_start(words, format);                                        \
    const int written = print(stdout, format, words);               \
    va_end(words);                                                  \
    return written;                                                 \
  }
PRINT(printf, char, vfprintf)
PRINT(wprintf, wchar_t, vfwprintf)

/* The names of calls that are checked. */
int __vfprintf_chk(FILE* stream, int level, const char* format, va_list words);
int __vfwprintf_chk(FILE* stream, int level, const wchar_t* format, va_list words);
#define PRINT_CHECKED(print, print_list, type, checked)                                                     \
  int print(int level, const type* format, ...);                                                            \
  int print_list(int level, const type* format, va_list words);                                             \
  REPLACES int print_list(int level, const type* format, va_list words) {                                   \
    return checked(stdout, level, format, words);                                                           \
  }                                                                                                         \
  REPLACES int print(int level, const type* format, ...) {                                                  \
    va_list words;                                                                                          \
    va_start(words, format);                                                                                \
    const int written = checked(stdout, level, format, words);                                              \
    va_end(words);                                                                                          \
    return written;                                                                                         \
  }
PRINT_CHECKED(__printf_chk, __vprintf_chk, char, __vfprintf_chk)
PRINT_CHECKED(__wprintf_chk, __vwprintf_chk, wchar_t, __vfwprintf_chk)

REPLACES void perror(const char* what) {
  const int error = errno;
  char room[128];
  const char* const reason = strerror_r(error, room, sizeof room);
  if (what != NULL && *what != 0)
    fprintf(stderr, "%s: %s\n", what, reason);
  else
    fprintf(stderr, "%s\n", reason);
  errno = error;
}

void weft_begin_output(void* standard_output, void* standard_error) {
  stdout = standard_output;
  stderr = standard_error;
}
