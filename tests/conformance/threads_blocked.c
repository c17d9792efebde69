/* A rank waits for a thread of its own by what the system has for that, and the thread in MPI for what another rank sends
   before it waits itself. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "conform.h"

enum { rounds = 20 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int has_mutex;
static int has_come, received = -1, sum;
static MPI_Comm of_threads;

static int value_of(int from, int round) {
  return 1000 * from + round;
}

/* From the rank's own thread: that of the rank on the left waits for it. */
static void tell_left(int round) {
  const int out = value_of(rank, round);
  MPI_Send(&out, 1, MPI_INT, (rank + size - 1) % size, round, MPI_COMM_WORLD);
}

static void hear(int round) {
  MPI_Recv(&received, 1, MPI_INT, (rank + 1) % size, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void expect_heard(int round) {
  EXPECT_INT(received, value_of((rank + 1) % size, round));
}

static void* with_mutex(void* round) {
  pthread_mutex_lock(&mutex);
  has_mutex = 1;
  hear((int)(MPI_Aint)round);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void* with_rwlock(void* round) {
  pthread_rwlock_wrlock(&rwlock);
  has_mutex = 1;
  hear((int)(MPI_Aint)round);
  pthread_rwlock_unlock(&rwlock);
  return NULL;
}

static void* with_condition(void* round) {
  hear((int)(MPI_Aint)round);
  pthread_mutex_lock(&mutex);
  has_come = 1;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void* with_barrier(void* round) {
  hear((int)(MPI_Aint)round);
  pthread_barrier_wait(&barrier);
  return NULL;
}

static void* with_semaphore(void* round) {
  hear((int)(MPI_Aint)round);
  sem_post(&semaphore);
  return NULL;
}

static void* with_collectives(void* unused) {
  (void)unused;
  for (int i = 0; i < rounds; ++i) {
    MPI_Request request;
    int one = 1, result = 0;
    MPI_Iallreduce(&one, &result, 1, MPI_INT, MPI_SUM, of_threads, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    sum += result;
  }
  pthread_barrier_wait(&barrier);
  return NULL;
}

static pthread_t started(void* (*body)(void*), int round) {
  pthread_t thread;
  pthread_create(&thread, NULL, body, (void*)(MPI_Aint)round);
  return thread;
}

static void test_waits(int round) {
  pthread_t thread = started(with_mutex, round);
  while (!has_mutex) sched_yield();
  tell_left(round);
  pthread_mutex_lock(&mutex);
  expect_heard(round);
  has_mutex = 0;
  pthread_mutex_unlock(&mutex);
  pthread_join(thread, NULL);

  thread = started(with_rwlock, round);
  while (!has_mutex) sched_yield();
  tell_left(round);
  if (round % 2)
    pthread_rwlock_rdlock(&rwlock);
  else
    pthread_rwlock_wrlock(&rwlock);
  expect_heard(round);
  has_mutex = 0;
  pthread_rwlock_unlock(&rwlock);
  pthread_join(thread, NULL);

  thread = started(with_condition, round);
  tell_left(round);
  pthread_mutex_lock(&mutex);
  while (!has_come) pthread_cond_wait(&condition, &mutex);
  has_come = 0;
  pthread_mutex_unlock(&mutex);
  expect_heard(round);
  pthread_join(thread, NULL);

  thread = started(with_barrier, round);
  tell_left(round);
  pthread_barrier_wait(&barrier);
  expect_heard(round);
  pthread_join(thread, NULL);

  thread = started(with_semaphore, round);
  tell_left(round);
  errno = 77;
  sem_wait(&semaphore);
  EXPECT_INT(errno, 77);
  expect_heard(round);
  pthread_join(thread, NULL);
}

static void test_collectives(void) {
  const pthread_t thread = started(with_collectives, 0);
  pthread_barrier_wait(&barrier);
  EXPECT_INT(sum, size * rounds);
  pthread_join(thread, NULL);
}

static void* count_serial(void* count) {
  for (int i = 0; i < 1000; ++i)
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) ++*(int*)count;
  return NULL;
}

/* A barrier among threads that do not call MPI, and what pthreads say of wrong use. */
static void test_barrier_itself(void) {
  enum { members = 3 };
  pthread_t threads[members];
  int serial[members] = {0}, all = 0;
  pthread_barrier_t local;
  EXPECT(pthread_barrier_init(&local, NULL, 0) != 0, "a barrier of nobody");
  pthread_barrier_destroy(&barrier);
  pthread_barrier_init(&barrier, NULL, members);
  for (int i = 0; i < members; ++i) pthread_create(&threads[i], NULL, count_serial, &serial[i]);
  for (int i = 0; i < members; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < members; ++i) all += serial[i];
  EXPECT_INT(all, 1000);
}

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  learn_place();
  EXPECT_INT(level, MPI_THREAD_MULTIPLE);
  pthread_barrier_init(&barrier, NULL, 2);
  sem_init(&semaphore, 0, 0);
  MPI_Comm_dup(MPI_COMM_WORLD, &of_threads);
  if (level == MPI_THREAD_MULTIPLE) {
    for (int round = 0; round < rounds; ++round) test_waits(round);
    test_collectives();
    test_barrier_itself();
  }
  MPI_Comm_free(&of_threads);
  sem_destroy(&semaphore);
  pthread_barrier_destroy(&barrier);
  return end();
}
