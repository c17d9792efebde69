/* What tools find: memory that nobody frees ("leak"), a write beyond its end ("beyond"), two threads that write one
   variable ("race"); nothing without a word. */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int shared;

static void* write_shared(void* unused) {
  ++shared;
  return unused;
}

static __attribute__((noinline)) void lose(int blocks) {
  for (int i = 0; i < blocks; ++i) {
    volatile char* const lost = malloc(1000);
    *lost = 1;
  }
}

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "";
  int rank, sum;
  pthread_t one, other;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (strcmp(what, "leak") == 0) lose(100);
  volatile char* const memory = malloc(10);
  if (strcmp(what, "beyond") == 0) memory[10] = 1;
  free((char*)memory);
  pthread_create(&one, NULL, write_shared, NULL);
  if (strcmp(what, "race") != 0) pthread_join(one, NULL);
  pthread_create(&other, NULL, write_shared, NULL);
  if (strcmp(what, "race") == 0) pthread_join(one, NULL);
  pthread_join(other, NULL);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  exit(0); /* AddressSanitizer looks at the stack there. */
}
