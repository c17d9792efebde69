/* MPI and OpenSHMEM in one job, initialised in either order. With "threads" OpenSHMEM alone is asked for threads, after
   MPI: MPI's calls take care of them all the same. */
#include <mpi.h>
#include <pthread.h>
#include "conform.h"

static int thread_is_done;
static long by_thread;
static void* uses_openshmem(void* none) {
  (void)none;
  for (int i = 0; i < 60000; ++i) {
    EXPECT(!shmem_long_test(&by_thread, SHMEM_CMP_LT, 0)); /* Looks at what has come. */
    shmem_long_atomic_inc(&by_thread, NEXT);
    shmem_quiet();
  }
  __atomic_store_n(&thread_is_done, 1, __ATOMIC_RELEASE);
  return NULL;
}

static void beside_a_thread(void) {
  enum { rounds = 100, wide = 600 };
  static int out[wide], in[wide];
  pthread_t thread;
  pthread_create(&thread, NULL, uses_openshmem, NULL);
  for (int all_done = 0; !all_done;) {
    for (int round = 0; round < rounds; ++round) {
      const int length = round * 17 % wide + 1;
      for (int i = 0; i < length; ++i) out[i] = me * rounds + round + i;
      if (me % 2 == 0) MPI_Send(out, length, MPI_INT, NEXT, round % 7, MPI_COMM_WORLD);
      MPI_Recv(in, wide, MPI_INT, LAST, round % 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (me % 2 != 0) MPI_Send(out, length, MPI_INT, NEXT, round % 7, MPI_COMM_WORLD);
      EXPECT(in[0] == LAST * rounds + round && in[length - 1] == in[0] + length - 1);
    }
    const int done = __atomic_load_n(&thread_is_done, __ATOMIC_ACQUIRE);
    MPI_Allreduce(&done, &all_done, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  }
  pthread_join(thread, NULL);
}

int main(int argc, char** argv) {
  const int mpi_first = argc > 1, threads = mpi_first && strcmp(argv[1], "threads") == 0;
  if (mpi_first) MPI_Init(&argc, &argv);
  if (threads) {
    int level = -1;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level);
    EXPECT(level == SHMEM_THREAD_MULTIPLE);
  }
  begin();
  if (threads && pes > 1) beside_a_thread();
  if (!mpi_first) MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  EXPECT(rank == me && size == pes);
  static long word;
  for (long round = 1; round <= 50; ++round) {
    shmem_long_p(&word, round, NEXT);
    shmem_quiet();
    long token = round, got = 0;
    MPI_Sendrecv(&token, 1, MPI_LONG, NEXT, 0, &got, 1, MPI_LONG, LAST, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT(got == round && word == round); /* The message came after the put was complete. */
    long sum = 0;
    MPI_Allreduce(&word, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(sum == round * pes);
    shmem_barrier_all();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (mpi_first) {
    const int result = end();
    if (threads) shmem_finalize();
    MPI_Finalize();
    return result;
  }
  MPI_Finalize();
  return end();
}
