/* The process number of a rank, which is its own: who has it, what comes of signals that are sent to it, children, and its end.
   The word says what is done; at the end rank 0 says in how many ranks all was right. */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, size, wrong;
static pid_t *numbers, *of_processes; /* Of the ranks; of their processes, as the kernel has them. */

static void expect(int right, const char* what) {
  if (right) return;
  ++wrong;
  fprintf(stderr, "rank %d: %s (errno %d)\n", rank, what, errno);
}

static volatile sig_atomic_t came;
static volatile pid_t sender;
static volatile int value;
static void on_signal(int number, siginfo_t* details, void* context) {
  (void)context;
  came = came * 100 + number;
  sender = details->si_pid;
  value = details->si_value.sival_int;
}
static void handle(int number) {
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
  sigaction(number, &action, NULL);
}
/* A second or so at least, long enough for any machine. */
static void await(int wanted) {
  for (int looks = 0; looks < 20000 && came != wanted; ++looks) usleep(1000);
}

static void* ask(void* number) {
  *(pid_t*)number = getpid();
  return gettid() != getpid() ? number : NULL;
}
static void is_there(void) {
  char path[64];
  struct stat found;
  for (int r = 0; r < size; ++r) {
    for (int other = 0; other < r; ++other) expect(numbers[r] != numbers[other], "a number of one's own");
    expect(kill(numbers[r], 0) == 0, "a number that is a process's");
    snprintf(path, sizeof path, "/proc/%d/status", (int)numbers[r]);
    expect(stat(path, &found) == 0, path);
  }
  const int is_lent = getpid() != of_processes[rank]; /* Otherwise the rank may be on a thread of weft's. */
  expect(getpid() == numbers[rank] && (!is_lent || gettid() == getpid()), "the first thread's number");
  pthread_t thread;
  void* differs = NULL;
  pid_t of_thread = 0;
  pthread_create(&thread, NULL, ask, &of_thread);
  pthread_join(thread, &differs);
  expect(of_thread == getpid() && differs != NULL, "a thread's number");
  /* No child of the program's, and what is asked of the kernel is the process's. */
  expect(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "no child");
  expect(getpgid(getpid()) == getpgrp() && getsid(getpid()) == getsid(0), "group and session");
  struct rlimit own, all;
  expect(prlimit(getpid(), RLIMIT_NOFILE, NULL, &own) == 0 && getrlimit(RLIMIT_NOFILE, &all) == 0 && own.rlim_cur == all.rlim_cur,
         "a limit");
}

static void children(void) {
  const pid_t parent = getpid();
  int status = -1;
  pid_t child = fork();
  if (child == 0) {
    const pid_t own = getpid();
    const pid_t grandchild = fork();
    if (grandchild == 0) _exit(getppid() == own ? 0 : 1);
    waitpid(grandchild, &status, 0);
    _exit(own != parent && getppid() == parent && status == 0 ? 0 : 1);
  }
  expect(waitpid(-1, &status, 0) == child && status == 0, "a child's numbers");
  child = vfork();
  if (child == 0) _exit(getpid() != parent ? 0 : 1);
  expect(waitpid(child, &status, 0) == child && status == 0, "the number of a child of vfork");
}

static void signals(void) {
  handle(SIGUSR1);
  handle(SIGUSR2);
  handle(SIGRTMIN);
  MPI_Barrier(MPI_COMM_WORLD);
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  /* Of another rank: to the one that it is for, by whom. */
  if (rank % 2 == 0) expect(kill(numbers[next], SIGUSR2) == 0, "kill");
  if (size > 1 && rank % 2 == 1) {
    await(SIGUSR2);
    /* Between processes the kernel says whose it is. */
    expect(came == SIGUSR2 && (sender == numbers[previous] || of_processes[previous] != of_processes[rank]),
           "a signal of another rank");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  expect(size == 1 || came == (rank % 2 == 1 ? SIGUSR2 : size % 2 == 1 && rank == 0 ? SIGUSR2 : 0), "nobody else's signal");
  MPI_Barrier(MPI_COMM_WORLD);
  came = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  expect(sigqueue(numbers[next], SIGRTMIN, (union sigval){.sival_int = 1000 + rank}) == 0, "sigqueue");
  await(SIGRTMIN);
  expect(came == SIGRTMIN && sender == numbers[previous] && value == 1000 + previous, "a signal with a value");
  MPI_Barrier(MPI_COMM_WORLD);
  came = 0;
  /* Of another program, which knows the number only. */
  char command[64];
  snprintf(command, sizeof command, "kill -USR1 %d", (int)getpid());
  expect(system(command) == 0, "a shell");
  await(SIGUSR1);
  expect(came == SIGUSR1, "a signal of another program");
  /* Blocked, and waited for. */
  came = 0;
  sigset_t set;
  int number = 0;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, NULL);
  expect(system(command) == 0 && sigwait(&set, &number) == 0 && number == SIGUSR1 && came == 0, "sigwait");
  /* It comes when all have waited for long. */
  snprintf(command, sizeof command, "(sleep 0.2; kill -USR1 %d) &", (int)getpid());
  expect(system(command) == 0 && sigwait(&set, &number) == 0 && number == SIGUSR1 && came == 0, "a long sigwait");
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const pid_t own = getpid();
  numbers = malloc((size_t)size * sizeof *numbers);
  MPI_Allgather(&own, sizeof own, MPI_BYTE, numbers, sizeof own, MPI_BYTE, MPI_COMM_WORLD);
  const pid_t of_process = (pid_t)syscall(SYS_getpid);
  of_processes = malloc((size_t)size * sizeof *of_processes);
  MPI_Allgather(&of_process, sizeof own, MPI_BYTE, of_processes, sizeof own, MPI_BYTE, MPI_COMM_WORLD);
  if (rank == 0)
    for (int r = 0; r < size; ++r) fprintf(stderr, "number %d\n", (int)numbers[r]);
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(what, "is-there") == 0) is_there();
  if (strcmp(what, "children") == 0) children();
  if (strcmp(what, "signals") == 0) signals();
  /* The others wait. */
  if (strcmp(what, "killed") == 0 && rank == 0) kill(numbers[size - 1], SIGKILL), pause();
  if (strcmp(what, "ended") == 0 && rank == 0) kill(numbers[size - 1], SIGTERM), pause();
  if (strcmp(what, "dies") == 0 && rank == 0) kill((pid_t)syscall(SYS_getpid), SIGKILL), pause();
  const int right = wrong == 0;
  int all = 0;
  MPI_Reduce(&right, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("right in %d of %d\n", all, size);
  MPI_Finalize();
  return 0;
}
