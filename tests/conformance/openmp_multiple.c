/* Each thread of a team exchanges messages with its like in the ranks beside it, by its own tag. */
#include <omp.h>
#include <unistd.h>

#include "conform.h"

enum { threads = 3, rounds = 50, long_length = 20000 };

/* How many messages were wrong. */
static int exchange(int thread, int step) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int* const out = malloc(long_length * sizeof *out);
  int* const in = malloc(long_length * sizeof *in);
  int wrong_ones = 0;
  for (int i = 0; i < rounds; ++i) {
    const int length = i % 10 == 9 ? long_length : 1;
    MPI_Request request;
    MPI_Status status;
    for (int k = 0; k < length; ++k) out[k] = 10000 * rank + 1000 * thread + 100 * step + i, in[k] = -1;
    MPI_Irecv(in, length, MPI_INT, left, thread, MPI_COMM_WORLD, &request);
    MPI_Send(out, length, MPI_INT, right, thread, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    const int wanted = 10000 * left + 1000 * thread + 100 * step + i;
    if (in[0] != wanted || in[length - 1] != wanted || status.MPI_TAG != thread) ++wrong_ones;
  }
  free(out);
  free(in);
  return wrong_ones;
}

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  learn_place();
  EXPECT_INT(level, MPI_THREAD_MULTIPLE);
  for (int step = 0; level == MPI_THREAD_MULTIPLE && step < 3; ++step) {
    int wrong_ones = 0, others = 0, team = 0;
#pragma omp parallel num_threads(threads) reduction(+ : wrong_ones)
    {
      wrong_ones = exchange(omp_get_thread_num(), step);
      if (omp_get_thread_num() == 0) {
        team = omp_get_num_threads();
        /* A rank that waits at the region's end would keep its core, which other ranks may need to send what this
           one's threads wait for. */
        for (int done = 0; done < team - 1;) {
#pragma omp atomic read
          done = others;
          if (done < team - 1) usleep(100);
        }
      } else {
#pragma omp atomic
        ++others;
      }
    }
    EXPECT_INT(team, threads);
    EXPECT_INT(wrong_ones, 0);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return end();
}
