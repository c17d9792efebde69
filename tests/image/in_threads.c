/* Threads of a rank change what a process has once, as the rank itself would: directories below the first word. */
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char* library_variable(const char* name); /* Of a library that all ranks share. */

static int rank, wrong;
static char number[16], directory[4096];

static void expect(int holds, const char* what) {
  if (holds) return;
  wrong = 1;
  printf("wrong in rank %d: %s\n", rank, what);
}

static void on_signal(int signal_number) { (void)signal_number; }

static void* change(void* nothing) {
  setenv("WEFT_TEST_NUMBER", number, 1);
  signal(SIGTERM, on_signal);
  errno = 0;
  const int failed = chdir(directory);
  printf("rank %d %s %d\n", rank, failed ? "refused" : "alone", errno == EPERM);
  return nothing;
}

static void* nothing_to_do(void* nothing) { return nothing; }

static void* look(void* nothing) {
  const char* const own = getenv("WEFT_TEST_NUMBER");
  const char* const of_library = library_variable("WEFT_TEST_NUMBER");
  expect(own != NULL && strcmp(own, number) == 0, "getenv()");
  expect(of_library != NULL && strcmp(of_library, number) == 0, "getenv() of a library");
  return nothing;
}

static void in_thread(void* (*body)(void*)) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, body, NULL) == 0) pthread_join(thread, NULL);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(number, sizeof number, "%d", rank);
  snprintf(directory, sizeof directory, "%s/rank%d", argv[1], rank);
  mkdir(directory, 0777);
  for (int i = 0; i < 3; ++i) in_thread(i == rank ? change : nothing_to_do); /* One after the other. */
  in_thread(look);
  MPI_Finalize();
  printf("%s\n", wrong ? "wrong" : "right");
  return wrong;
}
