/* One rank ends in the way that the first word says; when it ends badly, the others wait for ever, else
   they go on for a while. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void handler(void) { printf("handler of exit\n"); }
static void quick_handler(void) { printf("handler of quick_exit\n"); }

static void handler_with_status(int status, void* text) {
  printf("handler of %s with %d\n", (const char*)text, status);
}

static volatile sig_atomic_t noted;
static void note(int number) { noted = number; }

static __attribute__((noinline)) int deeper(int level) {
  volatile char some[2048];
  some[0] = (char)level;
  return level == 0 ? 0 : deeper(level + 1) + some[0];
}

static void end_in(const char* way);

static void* end_thread_in(void* way) {
  end_in(way);
  return NULL;
}

static void end_in(const char* way) {
  if (strncmp(way, "thread-", 7) == 0) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, end_thread_in, (void*)(way + 7)) == 0) pthread_join(thread, NULL);
  }
  if (strncmp(way, "on_exit", 7) == 0) on_exit(handler_with_status, (void*)"on_exit");
  if (strcmp(way, "on_exit-fork-0") == 0) {
    if (fork() == 0) exit(3);
    wait(NULL);
    exit(0);
  }
  if (strcmp(way, "on_exit-0") == 0 || strcmp(way, "exit-0") == 0) exit(0);
  if (strcmp(way, "on_exit") == 0) exit(7);
  if (strcmp(way, "fault") == 0) *(volatile int*)NULL = 1;
  if (strcmp(way, "overflow") == 0) (void)deeper(1);
  if (strcmp(way, "exit") == 0) exit(7);
  if (strcmp(way, "_exit") == 0) _exit(7);
  if (strcmp(way, "_Exit") == 0) _Exit(7);
  if (strcmp(way, "quick_exit") == 0) quick_exit(7);
  if (strcmp(way, "_exit-0") == 0) _exit(0);
  if (strcmp(way, "quick_exit-0") == 0) quick_exit(0);
  if (strcmp(way, "early") == 0) _exit(0);
  if (strcmp(way, "raise") == 0) raise(SIGTERM);
  if (strcmp(way, "raise-34") == 0) raise(34); /* SIGRTMIN, which has no name. */
  if (strcmp(way, "killed") == 0) raise(SIGKILL);
  if (strcmp(way, "handled") == 0) {
    signal(SIGTERM, note);
    if (raise(0) != 0 || pthread_kill(pthread_self(), 0) != 0 || pthread_kill(pthread_self(), 1000) == 0) _exit(9);
    raise(SIGTERM);
    _exit(noted == SIGTERM ? 7 : 8);
  }
  if (strcmp(way, "kill") == 0) kill(getpid(), SIGTERM);
  if (strcmp(way, "kill-abort") == 0) kill(getpid(), SIGABRT);
  if (strcmp(way, "kill-fault") == 0) kill(getpid(), SIGSEGV);
  if (strcmp(way, "killpg") == 0 && setpgid(0, 0) == 0) killpg(0, SIGSEGV);
  if (strcmp(way, "pthread_kill") == 0) pthread_kill(pthread_self(), SIGTERM);
  if (strcmp(way, "pthread_kill-abort") == 0) pthread_kill(pthread_self(), SIGABRT);
  if (strcmp(way, "sigqueue") == 0) sigqueue(getpid(), SIGTERM, (union sigval){0});
  if (strcmp(way, "raise-fault") == 0) raise(SIGSEGV);
  if (strcmp(way, "abort") == 0) abort();
  if (strcmp(way, "fork") == 0) {
    const pid_t child = fork();
    if (child == 0) _exit(5);
    printf("the child of %d went its way\n", (int)(getpid() == getppid()));
  }
}

int main(int argc, char** argv) {
  int rank, value = 0;
  const char* const way = argc > 1 ? argv[1] : "";
  const int ends_well = strstr(way, "-0") != NULL || strcmp(way, "fork") == 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  atexit(handler);
  at_quick_exit(quick_handler);
  if (ends_well) MPI_Finalize();
  /* Beside others that compute and so do not hear of it: all of them, the first, or those from rank 2 on. */
  const int all = strncmp(way, "beside-all-", 11) == 0, first = strncmp(way, "beside-first-", 13) == 0,
            last = !all && !first && strncmp(way, "beside-", 7) == 0;
  if (rank == 1) end_in(way + (all ? 11 : first ? 13 : last ? 7 : 0));
  if (all || (first && rank == 0) || (last && rank >= 2))
    for (volatile long i = 0;;) i = i + 1;
  if (strcmp(way, "killed") == 0) {
    /* Not all come to the end: that is an error, and the end all the same. */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int code = MPI_Finalize(), flag = 0;
    MPI_Finalized(&flag);
    printf("finalized %d with an error %d\n", flag, code != MPI_SUCCESS);
    fflush(stdout);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  }
  if (!ends_well && rank != 1) MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (ends_well) {
    usleep(300000); /* Longer than the other takes to end. */
    printf("the others went on\n");
    fflush(stdout);
    _exit(0);
  }
  MPI_Finalize();
  return 0;
}
