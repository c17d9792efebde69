/* Each copy of a program has an environment of its own. What it changes goes to the C library's as well,
   whose own functions (of time zones, of languages) look there: for them the last rank that spoke
   counts. In a process of one rank there is only that of the C library. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "process/life/c_library.h"
#include "process/life/program_begin.h"
#include "process/life/program_replaces.h"

LINKED_AS(environment);

/* All names of it, so that the C library uses this one where it is the program's only one. */
char** __environ;
extern char** environ __attribute__((alias("__environ")));
extern char** _environ __attribute__((alias("__environ")));

static int is_copy;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char** allocated; /* The table, when it is one of this file. */
static size_t room;

static char** find(char** table, const char* name, size_t length) {
  for (char** entry = table; entry != NULL && *entry != NULL; ++entry)
    if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') return entry;
  return NULL;
}

/* The caller holds the lock. */
static int make_table(size_t entries) {
  char** const larger = malloc(entries * sizeof *larger);
  if (larger == NULL) return -1;
  size_t count = 0;
  for (; environ != NULL && environ[count] != NULL; ++count) larger[count] = environ[count];
  larger[count] = NULL;
  /* The old table stays: somebody may be reading it, or have kept it. */
  environ = allocated = larger;
  room = entries;
  return 0;
}

static size_t entry_count(void) {
  size_t count = 0;
  while (environ != NULL && environ[count] != NULL) ++count;
  return count;
}

static int append(char* text) {
  const size_t count = entry_count();
  if ((environ == NULL || environ != allocated || count + 2 > room) && make_table(2 * count + 16) != 0)
    return -1;
  environ[count + 1] = NULL;
  environ[count] = text;
  return 0;
}

static int put(char* text, size_t length) {
  int failed = 0;
  pthread_mutex_lock(&lock);
  char** const there = find(environ, text, length);
  if (there == NULL)
    failed = append(text);
  else
    *there = text;
  pthread_mutex_unlock(&lock);
  return failed;
}

REPLACES char* getenv(const char* name) {
  const size_t length = strlen(name);
  char** const entry = length != 0 ? find(environ, name, length) : NULL;
  return entry != NULL ? *entry + length + 1 : NULL;
}
REPLACES char* secure_getenv(const char* name) { return getauxval(AT_SECURE) != 0 ? NULL : getenv(name); }

REPLACES int setenv(const char* name, const char* value, int overwrite) {
  const int set = OF_LIBC(setenv)(name, value, overwrite);
  if (!is_copy || set != 0) return set;
  if (!overwrite && getenv(name) != NULL) return 0;
  char* text;
  if (asprintf(&text, "%s=%s", name, value) < 0) return -1;
  return put(text, strlen(name));
}

REPLACES int unsetenv(const char* name) {
  const int unset = OF_LIBC(unsetenv)(name);
  if (!is_copy || unset != 0) return unset;
  const size_t length = strlen(name);
  pthread_mutex_lock(&lock);
  for (char** entry; (entry = find(environ, name, length)) != NULL;)
    for (; *entry != NULL; ++entry) *entry = entry[1];
  pthread_mutex_unlock(&lock);
  return 0;
}

REPLACES int putenv(char* text) {
  if (!is_copy) return OF_LIBC(putenv)(text);
  const size_t length = strcspn(text, "=");
  if (text[length] == '\0') return unsetenv(text);
  char* const name = strndup(text, length);
  if (name == NULL) return -1;
  OF_LIBC(setenv)(name, text + length + 1, 1);
  free(name);
  return put(text, length);
}

REPLACES int clearenv(void) {
  if (!is_copy) return OF_LIBC(clearenv)();
  environ = NULL;
  return 0;
}

void weft_begin_environment(char** environment) {
  is_copy = 1;
  environ = environment;
  make_table(entry_count() + 16); /* What the strings say is written by nobody. */
}
