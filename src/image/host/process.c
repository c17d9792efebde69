/* What a process has once and ranks change as if each had its own: made theirs, or told with `check`. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program/program.h"

#define OF_LIBC(function) (__extension__(__typeof__(&function)) dlsym(RTLD_NEXT, #function))

int chdir(const char* path) { return weft_change_directory(path, -1); }
int fchdir(int descriptor) { return weft_change_directory(NULL, descriptor); }
mode_t umask(mode_t mask) { return (mode_t)weft_change_mask(mask); }

char* setlocale(int category, const char* name) {
  char* const now = OF_LIBC(setlocale)(category, name);
  if (name != NULL && now != NULL) {
    static const char* const names[] = {"LC_CTYPE", "LC_NUMERIC", "LC_TIME", "LC_COLLATE",
                                        "LC_MONETARY", "LC_MESSAGES", "LC_ALL"};
    const int known = category >= 0 && category < (int)(sizeof names / sizeof *names);
    weft_shares(known ? names[category] : "a category of the locale", now);
  }
  return now;
}
