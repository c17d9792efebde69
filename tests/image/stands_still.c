/* Jobs of ranks with threads: those whose name begins with "hangs" stand still, the others go on by themselves. */
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { tag = 5 };
static int rank;
static const int late_s = 2; /* Longer than the limit of the test. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void* receive(void* unused) {
  int value;
  (void)unused;
  MPI_Recv(&value, 1, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return NULL;
}
static void* sleep_for_ever(void* unused) {
  (void)unused;
  pthread_mutex_lock(&lock);
  for (;;) pthread_cond_wait(&never, &lock);
}
static void* poll_for_ever(void* unused) {
  poll(NULL, 0, -1);
  return unused;
}
static void compute(void) {
  const double begun = MPI_Wtime();
  while (MPI_Wtime() - begun < late_s) continue;
}
static void* probe(void* unused) {
  const double begun = MPI_Wtime();
  int found;
  (void)unused;
  while (MPI_Wtime() - begun < late_s)
    MPI_Iprobe(1 - rank, 1, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  return NULL;
}
static void send(void) {
  MPI_Send(&rank, 1, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  const char* const way = argc > 1 ? argv[1] : "";
  int level;
  pthread_t thread;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  /* A thread of a pool or a library that has nothing to do, or one that communicates. */
  const int is_idle = strstr(way, "beside") != NULL;
  if (is_idle)
    pthread_create(&thread, NULL, strstr(way, "poller") != NULL ? poll_for_ever : sleep_for_ever, NULL);
  else if (strcmp(way, "thread-probes") == 0 && rank == 0)
    pthread_create(&thread, NULL, probe, NULL);
  else
    pthread_create(&thread, NULL, receive, NULL);
  if (strncmp(way, "hangs-beside", 12) == 0) receive(NULL);
  if (strcmp(way, "hangs-in-join") == 0) pthread_join(thread, NULL);
  if (strcmp(way, "computes") == 0) compute();
  if (strcmp(way, "sleeps") == 0 || strcmp(way, "sleeps-beside-pool") == 0) sleep((unsigned)late_s);
  if (strcmp(way, "sleeps-often") == 0)
    for (int i = 0; i < late_s * 10; ++i) usleep(100000);
  if (strcmp(way, "waits-for-child") == 0 && system("sleep 2") != 0) return 1;
  if (strcmp(way, "thread-probes") == 0 && rank == 0) pthread_join(thread, NULL);
  if (is_idle) {
    if (rank == 0) send();
    if (rank == 1) receive(NULL);
  } else {
    if (rank == 0 || strcmp(way, "thread-probes") != 0) send();
    if (rank == 1 || strcmp(way, "thread-probes") != 0) pthread_join(thread, NULL);
  }
  MPI_Finalize();
  exit(0);
}
