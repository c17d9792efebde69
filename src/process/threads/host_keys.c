/* Keys of thread-specific values that a copy's own code makes are the rank's (process/threads/own_keys.h); those of code that ranks
   share are the process's. Which one a key is, its number tells. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <threads.h>

#include "process/life/c_library.h"
#include "process/life/caller.h"
#include "process/threads/own_keys.h"

/* The rank that makes a key of its own; -1: the C library makes it. */
static int maker(const void* from) { return weft_is_private(from) ? weft_number() : -1; }

int pthread_key_create(pthread_key_t* key, void (*destructor)(void*)) {
  NEXT(pthread_key_create);
  const int rank = maker(__builtin_return_address(0));
  return rank >= 0 ? weft_make_key(rank, key, destructor) : next(key, destructor);
}
int pthread_key_delete(pthread_key_t key) {
  NEXT(pthread_key_delete);
  return weft_is_own_key(key) ? weft_delete_key(key) : next(key);
}
int pthread_setspecific(pthread_key_t key, const void* value) {
  NEXT(pthread_setspecific);
  return weft_is_own_key(key) ? weft_set_value(key, value) : next(key, value);
}
void* pthread_getspecific(pthread_key_t key) {
  if (weft_is_own_key(key)) return weft_value(key);
  NEXT(pthread_getspecific);
  return next(key);
}

/* The same of C11, whose errors are other numbers. */
static int of_c(int error) { return error == 0 ? thrd_success : error == ENOMEM ? thrd_nomem : thrd_error; }

int tss_create(tss_t* key, tss_dtor_t destructor) {
  NEXT(tss_create);
  const int rank = maker(__builtin_return_address(0));
  return rank >= 0 ? of_c(weft_make_key(rank, key, destructor)) : next(key, destructor);
}
void tss_delete(tss_t key) {
  NEXT(tss_delete);
  if (weft_is_own_key(key))
    weft_delete_key(key);
  else
    next(key);
}
int tss_set(tss_t key, void* value) {
  NEXT(tss_set);
  return weft_is_own_key(key) ? of_c(weft_set_value(key, value)) : next(key, value);
}
void* tss_get(tss_t key) {
  if (weft_is_own_key(key)) return weft_value(key);
  NEXT(tss_get);
  return next(key);
}
