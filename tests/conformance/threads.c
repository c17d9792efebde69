/* Threads that all call MPI: messages between them by tag, collectives on a communicator each, threads
   that start and end while others wait.
   Run with: --moving on -n 7
   Run with: --moving always -n 7 --processes 2 */
#include <pthread.h>

#include "conform.h"

enum { threads = 4, rounds = 200 };
static MPI_Comm own[threads];
static int found_wrong[threads];

static void* exchange(void* number_) {
  const int t = (int)(MPI_Aint)number_, right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int i = 0; i < rounds; ++i) {
    int out = 1000 * rank + i, in = -1, sum = -1;
    MPI_Request request;
    MPI_Status status;
    if (i % 2) {
      MPI_Irecv(&in, 1, MPI_INT, left, t, MPI_COMM_WORLD, &request);
      MPI_Send(&out, 1, MPI_INT, right, t, MPI_COMM_WORLD);
      MPI_Wait(&request, &status);
    } else {
      MPI_Sendrecv(&out, 1, MPI_INT, right, t, &in, 1, MPI_INT, left, t, MPI_COMM_WORLD, &status);
    }
    if (in != 1000 * left + i || status.MPI_TAG != t) ++found_wrong[t];
    if (i % 20 == 0) {
      MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, own[t]);
      if (sum != size * (size - 1) / 2) ++found_wrong[t];
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  int level = 0;
  pthread_t started[threads];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  learn_place();
  EXPECT_INT(level, MPI_THREAD_MULTIPLE);
  if (level == MPI_THREAD_MULTIPLE) {
    for (int t = 0; t < threads; ++t) MPI_Comm_dup(MPI_COMM_WORLD, &own[t]);
    for (int again = 0; again < 3; ++again) {
      for (int t = 0; t < threads; ++t) pthread_create(&started[t], NULL, exchange, (void*)(MPI_Aint)t);
      for (int t = 0; t < threads; ++t) pthread_join(started[t], NULL);
    }
    for (int t = 0; t < threads; ++t) {
      EXPECT(found_wrong[t] == 0, "thread %d: %d wrong", t, found_wrong[t]);
      MPI_Comm_free(&own[t]);
    }
  }
  return end();
}
