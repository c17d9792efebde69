/* Keys of thread-specific values: many in each rank, of its main() and of threads that it makes. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <threads.h>

enum { keys_each = 50, threads_each = 2 };
static int rank, size, wrong;
#define EXPECT(what) \
  ((what) ? 0 : (++wrong, fprintf(stderr, "rank %d, line %d: %s\n", rank, __LINE__, #what)))

static pthread_key_t keys[keys_each], again;
static int destroyed[keys_each], destroyed_again;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* value_of(int key, int who) { return (void*)(intptr_t)(1 + rank + 1000 * key + 100000 * who); }
static void destroy(void* value) {
  pthread_mutex_lock(&lock);
  ++destroyed[(intptr_t)value % 100000 / 1000];
  pthread_mutex_unlock(&lock);
}
/* It sets its value again, each time. */
static void set_again(void* value) {
  pthread_mutex_lock(&lock);
  ++destroyed_again;
  pthread_mutex_unlock(&lock);
  EXPECT(pthread_getspecific(again) == NULL);
  EXPECT(pthread_setspecific(again, value) == 0);
}

static void say_destroyed(void* value) { printf("rank %d: %s\n", rank, (const char*)value); }

static void* in_thread(void* who) {
  for (int k = 0; k < keys_each; ++k) {
    EXPECT(pthread_getspecific(keys[k]) == NULL);
    EXPECT(pthread_setspecific(keys[k], value_of(k, (int)(intptr_t)who)) == 0);
  }
  for (int k = 0; k < keys_each; ++k) EXPECT(pthread_getspecific(keys[k]) == value_of(k, (int)(intptr_t)who));
  EXPECT(pthread_setspecific(again, &again) == 0);
  return NULL;
}

static void expect_own_values(void) {
  for (int k = 0; k < keys_each; ++k) EXPECT(pthread_getspecific(keys[k]) == value_of(k, 0));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int k = 0; k < keys_each; ++k) {
    EXPECT(pthread_key_create(&keys[k], destroy) == 0);
    EXPECT(pthread_getspecific(keys[k]) == NULL);
    EXPECT(pthread_setspecific(keys[k], value_of(k, 0)) == 0);
  }
  EXPECT(pthread_key_create(&again, set_again) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  expect_own_values();
  pthread_t threads[threads_each];
  for (int t = 0; t < threads_each; ++t)
    EXPECT(pthread_create(&threads[t], NULL, in_thread, (void*)(intptr_t)(t + 1)) == 0);
  for (int t = 0; t < threads_each; ++t) pthread_join(threads[t], NULL);
  for (int k = 0; k < keys_each; ++k) EXPECT(destroyed[k] == threads_each);
  EXPECT(destroyed_again == threads_each * PTHREAD_DESTRUCTOR_ITERATIONS);
  expect_own_values();
  /* One that is deleted takes its values along, and its number may be that of the next. */
  const pthread_key_t gone = keys[7];
  EXPECT(pthread_key_delete(gone) == 0);
  EXPECT(pthread_key_delete(gone) == EINVAL && pthread_setspecific(gone, &keys) == EINVAL);
  EXPECT(pthread_key_create(&keys[7], NULL) == 0);
  EXPECT(pthread_getspecific(keys[7]) == NULL);
  EXPECT(pthread_setspecific(keys[7], value_of(7, 0)) == 0);
  expect_own_values();
  tss_t of_c;
  EXPECT(tss_create(&of_c, NULL) == thrd_success && tss_get(of_c) == NULL);
  EXPECT(tss_set(of_c, &of_c) == thrd_success && tss_get(of_c) == &of_c);
  tss_delete(of_c);
  /* As many as there may be in a process. */
  int made = keys_each + 1;
  pthread_key_t one;
  while (made < 4 * PTHREAD_KEYS_MAX && pthread_key_create(&one, NULL) == 0) ++made;
  EXPECT(made > PTHREAD_KEYS_MAX / 2 && made <= PTHREAD_KEYS_MAX);
  int all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) printf("%d ranks have keys of their own\n", size);
  MPI_Finalize();
  if (argc > 1) { /* The C library has keys enough for the process of one rank. */
    pthread_key_delete(one);
    if (pthread_key_create(&one, say_destroyed) == 0) pthread_setspecific(one, argv[1]);
    pthread_exit(NULL);
  }
  return 0;
}
