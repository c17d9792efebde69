/* Libraries that all ranks share see the environment of the rank that calls them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program/program.h"

#define OF_LIBC(function) (__extension__(__typeof__(&function)) dlsym(RTLD_NEXT, #function))

/* Not the C library's: this is called by allocators, too, before anything else works. */
char* getenv(const char* name) {
  const struct weft_own_state* const own = weft_own();
  if (own != NULL) return own->getenv(name);
  const size_t length = strlen(name);
  for (char** entry = environ; entry != NULL && *entry != NULL; ++entry)
    if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') return *entry + length + 1;
  return NULL;
}

int setenv(const char* name, const char* value, int overwrite) {
  const struct weft_own_state* const own = weft_own();
  return own != NULL ? own->setenv(name, value, overwrite) : OF_LIBC(setenv)(name, value, overwrite);
}

int putenv(char* text) {
  const struct weft_own_state* const own = weft_own();
  return own != NULL ? own->putenv(text) : OF_LIBC(putenv)(text);
}

int unsetenv(const char* name) {
  const struct weft_own_state* const own = weft_own();
  return own != NULL ? own->unsetenv(name) : OF_LIBC(unsetenv)(name);
}
