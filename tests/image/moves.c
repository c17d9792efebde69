/* Ranks of unequal work, whose workers move to threads that are idle, keep what is theirs. Argument: a directory of theirs. */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int rank, size, wrong;

static void expect(int holds, const char* what) {
  if (holds) return;
  wrong = 1;
  printf("wrong in rank %d: %s\n", rank, what);
}

static void compute(long microseconds) {
  struct timespec now, begin;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do
    clock_gettime(CLOCK_MONOTONIC, &now);
  while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < microseconds);
}

/* Compilers keep the address of errno across a call; they must not know that it is that. */
static __attribute__((noinline)) int* errno_now(void) {
  __asm__ volatile("" ::: "memory");
  return &errno;
}

int main(int argc, char** argv) {
  char path[4096], here[4096], fifo[4096 + 8];
  pthread_key_t key;
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) printf("%s\n", provided == MPI_THREAD_FUNNELED ? "funneled" : "as asked for");
  snprintf(path, sizeof path, "%s/rank%d", argv[1], rank);
  snprintf(fifo, sizeof fifo, "%s/fifo", argv[1]);
  expect(mkdir(path, 0700) == 0 && chdir(path) == 0, "a directory of its own");
  umask(rank & 7);
  expect(pthread_key_create(&key, NULL) == 0 && pthread_setspecific(key, &path) == 0, "a key");
  if (rank == 0) expect(mkfifo(fifo, 0600) == 0, "mkfifo()");
  for (int round = 0; round < 40; ++round) {
    const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    int got = -1, sum = -1;
    *errno_now() = 100 + rank;
    compute((rank + round) % 5 * 200);
    MPI_Sendrecv(&rank, 1, MPI_INT, next, round, &got, 1, MPI_INT, previous, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(got == previous, "the message of its neighbour");
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(sum == size * (size - 1) / 2, "the sum of all");
    expect(*errno_now() == 100 + rank, "errno");
    expect(getcwd(here, sizeof here) != NULL && strcmp(here, path) == 0, "getcwd()");
    expect(umask(rank & 7) == (mode_t)(rank & 7), "umask()");
    expect(pthread_getspecific(key) == (void*)&path, "the value of its key");
  }
  /* The last rank computes first: whoever waits for it in a stream of the C library is to stop nobody. */
  if (rank == 0) {
    FILE* const from = fopen(fifo, "r");
    char word[16] = "";
    expect(from != NULL && fscanf(from, "%15s", word) == 1 && strcmp(word, "word") == 0, "a word of the last rank");
    if (from != NULL) fclose(from);
  } else if (rank == size - 1) {
    int token = 0;
    MPI_Recv(&token, 1, MPI_INT, 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    FILE* const to = fopen(fifo, "w");
    expect(to != NULL && fprintf(to, "word\n") == 5 && fclose(to) == 0, "a word to the first rank");
  } else if (rank == 1) {
    compute(5000);
    MPI_Send(&rank, 1, MPI_INT, size - 1, 99, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  printf("%s\n", wrong ? "wrong" : "right");
  return wrong;
}
