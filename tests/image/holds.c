/* A rank locks a mutex while its thread runs a part of a reduction, and holds it while it waits. */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { tag = 5, soon = 6 };
static int rank;
static atomic_int is_reducing, is_locked;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static MPI_Op add;
static MPI_Comm of_threads;

static void add_while_the_other_locks(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
  is_reducing = 1;
  while (rank == 1 && !is_locked) continue;
}

static void* reduce(void* unused) {
  int one = 1, sum;
  MPI_Request request;
  (void)unused;
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, add, of_threads, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return NULL;
}

int main(int argc, char** argv) {
  int level, value = 0;
  pthread_t thread;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Op_create(add_while_the_other_locks, 1, &add);
  MPI_Comm_dup(MPI_COMM_WORLD, &of_threads);
  pthread_create(&thread, NULL, reduce, NULL);
  if (rank == 1) {
    while (!is_reducing) continue;
    pthread_mutex_lock(&lock);
    is_locked = 1;
    MPI_Send(&value, 1, MPI_INT, 0, soon, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    pthread_mutex_unlock(&lock);
  } else {
    MPI_Recv(&value, 1, MPI_INT, 1, soon, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    usleep(300000); /* The other waits by then. */
    MPI_Send(&value, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
  }
  pthread_join(thread, NULL);
  MPI_Op_free(&add);
  MPI_Comm_free(&of_threads);
  MPI_Finalize();
  return 0;
}
