/* Threads of a team exchange messages with their like in the ranks beside it, each by its own tag, while the first one
   waits for them: at the region's end, in its barriers, for a section that one at a time may enter, for a lock. It may
   be what other ranks wait for. */
#include <errno.h>
#include <omp.h>
#include <unistd.h>

#include "conform.h"

enum { threads = 3, rounds = 10, long_length = 20000, any_tag_of_threads = 100 };

static int wrong_ones;

static void exchange_one(int length, int tag, int value) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int* const out = malloc(length * sizeof *out);
  int* const in = malloc(length * sizeof *in);
  MPI_Request request;
  MPI_Status status;
  for (int k = 0; k < length; ++k) out[k] = 1000 * rank + value, in[k] = -1;
  MPI_Irecv(in, length, MPI_INT, left, tag, MPI_COMM_WORLD, &request);
  MPI_Send(out, length, MPI_INT, right, tag, MPI_COMM_WORLD);
  MPI_Wait(&request, &status);
  const int wanted = 1000 * left + value;
  if (in[0] != wanted || in[length - 1] != wanted || status.MPI_TAG != tag) {
#pragma omp atomic
    ++wrong_ones;
  }
  free(out);
  free(in);
}

static void exchange(int thread) {
  for (int i = 0; i < rounds; ++i) exchange_one(i % 5 == 4 ? long_length : 1, thread, 100 * thread + i);
}

/* All threads of all teams. */
static void test_regions(void) {
  int team = 0;
#pragma omp parallel num_threads(threads)
  {
    exchange(omp_get_thread_num());
    if (omp_get_thread_num() == 0) team = omp_get_num_threads();
  }
  EXPECT_INT(team, threads);
}

/* The first thread comes to each end at once. */
static void test_others(void) {
#pragma omp parallel num_threads(threads)
  if (omp_get_thread_num() != 0) exchange(omp_get_thread_num());

#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (int i = 0; i < threads; ++i)
    if (omp_get_thread_num() != 0) (void)omp_get_wtime();

#pragma omp parallel sections num_threads(threads)
  {
#pragma omp section
    exchange(1);
#pragma omp section
    exchange(2);
  }
}

static void test_barriers(void) {
  int sum = 0;
#pragma omp parallel num_threads(threads)
  {
    const int me = omp_get_thread_num();
    if (me == 1) exchange(me);
#pragma omp barrier
    if (me == 2) exchange(me);
#pragma omp for schedule(dynamic, 1) reduction(+ : sum)
    for (int i = 0; i < 10; ++i) sum += i;
    if (me != 0) exchange(me);
#pragma omp for schedule(static)
    for (int i = 0; i < 10; ++i)
#pragma omp atomic
      sum += i;
#pragma omp single
    if (me != 0) sum += 0;
    /* A region within has barriers of its own. */
#pragma omp parallel num_threads(2)
    {
#pragma omp barrier
    }
    if (me == 1) exchange(me);
#pragma omp barrier
  }
  EXPECT_INT(sum, 90);
}

/* Who comes in k-th exchanges the k-th message. */
static void test_sections_of_one(void) {
  int named = 0, unnamed = 0, locked = 0, nested = 0;
  omp_lock_t lock;
  omp_nest_lock_t nest;
  omp_init_lock(&lock);
  omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(threads)
  for (int i = 0; i < rounds; ++i) {
#pragma omp critical
    {
      exchange_one(1, any_tag_of_threads, unnamed);
      ++unnamed;
    }
#pragma omp critical(with_name)
    {
      exchange_one(1, any_tag_of_threads + 1, named);
      ++named;
    }
    omp_set_lock(&lock);
    exchange_one(1, any_tag_of_threads + 2, locked);
    ++locked;
    omp_unset_lock(&lock);
    omp_set_nest_lock(&nest);
    omp_set_nest_lock(&nest);
    exchange_one(1, any_tag_of_threads + 3, nested);
    ++nested;
    omp_unset_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
  }
  omp_destroy_lock(&lock);
  omp_destroy_nest_lock(&nest);
  EXPECT_INT(unnamed, threads * rounds);
  EXPECT_INT(named, threads * rounds);
  EXPECT_INT(locked, threads * rounds);
  EXPECT_INT(nested, threads * rounds);
}

/* Tasks are run by whoever waits in a barrier, here by the first thread while the one that has made them is in MPI. */
static void test_tasks(void) {
  enum { tasks = 5 };
  int done = 0, total = 0;
#pragma omp parallel num_threads(threads)
  if (omp_get_thread_num() == 1) {
    for (int i = 0; i < tasks; ++i) {
#pragma omp task shared(done)
      {
#pragma omp atomic
        ++done;
      }
    }
    for (int now = 0; now < tasks;) {
      int flag;
      MPI_Iprobe(MPI_ANY_SOURCE, any_tag_of_threads + 4, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
#pragma omp atomic read
      now = done;
    }
  }
  EXPECT_INT(done, tasks);

#pragma omp parallel num_threads(threads) reduction(task, + : total)
  {
#pragma omp single
    for (int i = 0; i < tasks; ++i) {
#pragma omp task in_reduction(+ : total)
      ++total;
    }
  }
  EXPECT_INT(total, tasks);
}

/* Called by MPI: a region with a barrier of its own, which is not that of the region that the caller is in. */
static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
#pragma omp parallel num_threads(2)
  {
#pragma omp barrier
#pragma omp single
    for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
  }
}

static void test_operations(void) {
  MPI_Op op;
  int mine = rank, sum = -1;
  MPI_Op_create(add, 1, &op);
#pragma omp parallel num_threads(threads)
  {
    const int me = omp_get_thread_num();
    if (me == 0) MPI_Allreduce(&mine, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
    if (me == 1) exchange(me);
#pragma omp barrier
    if (me == 2) exchange(me);
  }
  MPI_Op_free(&op);
  EXPECT_INT(sum, size * (size - 1) / 2);
}

/* Of the threads that come to it at the same time some sleep. */
static void test_errno(void) {
  int changed = 0;
#pragma omp parallel num_threads(threads) reduction(+ : changed)
  for (int i = 0; i < 200; ++i) {
    errno = 77;
#pragma omp critical
    if (i % 10 == 0) usleep(10);
    if (errno != 77) ++changed;
  }
  EXPECT_INT(changed, 0);
}

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  learn_place();
  omp_set_max_active_levels(2);
  EXPECT_INT(level, MPI_THREAD_MULTIPLE);
  for (int step = 0; level == MPI_THREAD_MULTIPLE && step < 2; ++step) {
    test_regions();
    test_others();
    test_barriers();
    test_sections_of_one();
    test_tasks();
    test_operations();
    test_errno();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  EXPECT_INT(wrong_ones, 0);
  return end();
}
