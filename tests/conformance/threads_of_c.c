/* Threads of <threads.h> are the rank's own: they call MPI, and the rank that waits for them lets others run, for
   which they wait. */
#include <stdatomic.h>
#include <threads.h>

#include "conform.h"

enum { rounds = 20 };

static mtx_t mutex;
static cnd_t condition;
static atomic_int has_mutex;
static int has_come, received = -1;
static thread_local int of_thread = 5;

static int value_of(int from, int round) {
  return 1000 * from + round;
}

/* From the rank's own thread: that of the rank on the left waits for it. */
static void tell_left(int round) {
  const int out = value_of(rank, round);
  MPI_Send(&out, 1, MPI_INT, (rank + size - 1) % size, round, MPI_COMM_WORLD);
}

static int hear(int round) {
  int here = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &here);
  if (here != rank) return -2;
  MPI_Recv(&received, 1, MPI_INT, (rank + 1) % size, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return received;
}

static void expect_heard(int round) {
  EXPECT_INT(received, value_of((rank + 1) % size, round));
}

static int with_result(void* round) {
  return -hear(*(int*)round); /* Below zero: all of an int comes back. */
}

static int with_exit(void* round) {
  const int result = hear(*(int*)round);
  thrd_exit(-result);
}

static int with_mutex(void* round) {
  mtx_lock(&mutex);
  has_mutex = 1;
  const int result = hear(*(int*)round);
  mtx_unlock(&mutex);
  return result;
}

static int with_condition(void* round) {
  hear(*(int*)round);
  mtx_lock(&mutex);
  has_come = 1;
  cnd_signal(&condition);
  mtx_unlock(&mutex);
  return 0;
}

static int with_own_memory(void* unused) {
  (void)unused;
  return ++of_thread;
}

static thrd_t started(thrd_start_t body, int* round) {
  thrd_t thread;
  EXPECT_INT(thrd_create(&thread, body, round), thrd_success);
  return thread;
}

static void test_waits(int round) {
  int result = 0;
  thrd_t thread = started(with_result, &round);
  tell_left(round);
  EXPECT_INT(thrd_join(thread, &result), thrd_success);
  EXPECT_INT(result, -value_of((rank + 1) % size, round));

  thread = started(with_exit, &round);
  tell_left(round);
  EXPECT_INT(thrd_join(thread, &result), thrd_success);
  EXPECT_INT(result, -value_of((rank + 1) % size, round));

  has_mutex = 0;
  thread = started(with_mutex, &round);
  while (!has_mutex) thrd_yield();
  tell_left(round);
  EXPECT_INT(mtx_lock(&mutex), thrd_success);
  expect_heard(round);
  mtx_unlock(&mutex);
  thrd_join(thread, NULL);

  has_come = 0;
  thread = started(with_condition, &round);
  tell_left(round);
  mtx_lock(&mutex);
  while (!has_come) EXPECT_INT(cnd_wait(&condition, &mutex), thrd_success);
  expect_heard(round);
  mtx_unlock(&mutex);
  thrd_join(thread, NULL);

  thread = started(with_own_memory, NULL);
  thrd_join(thread, &result);
  EXPECT(result == 6 && of_thread == 5, "%d and %d", result, of_thread);
}

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  learn_place();
  mtx_init(&mutex, mtx_plain);
  cnd_init(&condition);
  for (int round = 0; level == MPI_THREAD_MULTIPLE && round < rounds; ++round) test_waits(round);
  cnd_destroy(&condition);
  mtx_destroy(&mutex);
  return end();
}
