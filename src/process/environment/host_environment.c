/* Libraries that all ranks share see the environment of the rank that calls them. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/life/c_library.h"
#include "process/life/caller.h"

/* Allocators call this, too, before anything else works: it does not call the C library's. */
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
