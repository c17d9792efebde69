/* Signals beyond sigaction() and kill(), and what children begin with: each rank tells what is wrong, and rank 0 at the end in how many
   ranks all was right. */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

extern char** environ;
static int rank, size, wrong;

static void expect(int right, const char* what) {
  if (right) return;
  ++wrong;
  fprintf(stderr, "rank %d: %s (errno %d)\n", rank, what, errno);
}

static int mask_of(int number) { return 1 << (number - 1); }
static volatile sig_atomic_t got;
static void on_signal(int number) { got = number; }
static int take(void) {
  const int number = got;
  got = 0;
  return number;
}
static int is_blocked(int number) {
  sigset_t mask;
  return sigprocmask(SIG_BLOCK, NULL, &mask) == 0 && sigismember(&mask, number);
}

static void broken_pipes(void) {
  int ends[2];
  signal(SIGPIPE, on_signal);
  expect(pipe(ends) == 0 && close(ends[0]) == 0, "pipe");
  expect(write(ends[1], "x", 1) == -1 && errno == EPIPE && take() == SIGPIPE, "write");
  close(ends[1]);
  expect(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && close(ends[0]) == 0, "socketpair");
  expect(send(ends[1], "x", 1, 0) == -1 && errno == EPIPE && take() == SIGPIPE, "send");
  expect(send(ends[1], "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE && take() == 0, "send without a signal");
  close(ends[1]);
  signal(SIGPIPE, SIG_IGN);
  expect(pipe(ends) == 0 && close(ends[0]) == 0 && write(ends[1], "x", 1) == -1 && errno == EPIPE, "ignored");
  close(ends[1]);
}

static void older_calls(void) {
  signal(SIGUSR1, on_signal);
  expect(sighold(SIGUSR1) == 0 && is_blocked(SIGUSR1) && raise(SIGUSR1) == 0 && take() == 0, "sighold");
  expect(sigrelse(SIGUSR1) == 0 && !is_blocked(SIGUSR1) && take() == SIGUSR1, "sigrelse");
  expect(sigset(SIGUSR1, SIG_HOLD) == on_signal && is_blocked(SIGUSR1), "SIG_HOLD");
  expect(sigset(SIGUSR1, on_signal) == SIG_HOLD && !is_blocked(SIGUSR1), "sigset");
  expect(raise(SIGUSR1) == 0 && take() == SIGUSR1, "a handler of sigset");
  expect(sigignore(SIGUSR1) == 0 && raise(SIGUSR1) == 0 && take() == 0, "sigignore");
  const int before = sigblock(mask_of(SIGUSR2));
  expect(is_blocked(SIGUSR2) && sigblock(0) == (before | mask_of(SIGUSR2)), "sigblock");
  expect(sigsetmask(before) == (before | mask_of(SIGUSR2)) && !is_blocked(SIGUSR2), "sigsetmask");
  int ends[2];
  char byte;
  const struct itimerval soon = {{0, 0}, {0, 20000}};
  signal(SIGALRM, on_signal);
  expect(siginterrupt(SIGALRM, 1) == 0 && pipe(ends) == 0 && setitimer(ITIMER_REAL, &soon, NULL) == 0, "siginterrupt");
  expect(read(ends[0], &byte, 1) == -1 && errno == EINTR && take() == SIGALRM, "a call that it ends");
  close(ends[0]);
  close(ends[1]);
}

/* A fault that is sent, not caused, can be ignored; by the rank that wants it. */
static void ignored_faults(void) {
  const int faults[] = {SIGFPE, SIGSEGV, SIGSYS};
  for (int i = 0; i < 3; ++i) {
    struct sigaction now;
    if (rank == 0) signal(faults[i], SIG_IGN);
    MPI_Barrier(MPI_COMM_WORLD);
    expect(sigaction(faults[i], NULL, &now) == 0 && (now.sa_handler == SIG_IGN) == (rank == 0), "who ignores a fault");
    if (rank == 0) expect(raise(faults[i]) == 0 && kill(getpid(), faults[i]) == 0, "a fault that is ignored");
    MPI_Barrier(MPI_COMM_WORLD);
    const union sigval value = {.sival_int = 1};
    signal(faults[i], on_signal);
    expect(kill(getpid(), faults[i]) == 0 && take() == faults[i], "a fault that a rank sends to itself");
    expect(sigqueue(getpid(), faults[i], value) == 0 && take() == faults[i], "a fault with a value");
    MPI_Barrier(MPI_COMM_WORLD);
    signal(faults[i], SIG_DFL);
  }
}

static sigjmp_buf place;
static jmp_buf within;
static void on_signal_jumps(int number) {
  if (setjmp(within) == 0) longjmp(within, 1);
  got = number;
}
static void jumps(void) {
  if (sigsetjmp(place, 1) == 0) {
    sighold(SIGTERM);
    siglongjmp(place, 1);
  }
  expect(!is_blocked(SIGTERM), "a mask that siglongjmp brings back");
  if (sigsetjmp(place, 0) == 0) {
    sighold(SIGTERM);
    siglongjmp(place, 1);
  }
  expect(is_blocked(SIGTERM) && sigrelse(SIGTERM) == 0, "a mask that siglongjmp leaves alone");
  signal(SIGUSR1, on_signal_jumps);
  for (int i = 0; i < 2; ++i) expect(raise(SIGUSR1) == 0 && take() == SIGUSR1 && !is_blocked(SIGUSR1), "a jump in a handler");
}

static pthread_t rank_thread;
static void* wait_for_signal(void* taken) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  return sigwait(&set, taken) == 0 ? taken : NULL;
}
static void* send_to_rank(void* none) { return pthread_kill(rank_thread, SIGUSR1) == 0 ? &rank_thread : none; }
static void threads(void) {
  pthread_t thread;
  void* result;
  int taken = 0;
  sighold(SIGUSR2);
  expect(pthread_create(&thread, NULL, wait_for_signal, &taken) == 0, "pthread_create");
  if (rank % 2 == 0) usleep(20000); /* Before it waits, and while. */
  kill(getpid(), SIGUSR2);
  expect(pthread_join(thread, &result) == 0 && result == &taken && taken == SIGUSR2, "sigwait in a thread");
  sigrelse(SIGUSR2);
  signal(SIGUSR1, on_signal);
  rank_thread = pthread_self();
  expect(pthread_create(&thread, NULL, send_to_rank, NULL) == 0, "pthread_create");
  expect(pthread_join(thread, &result) == 0 && result == &rank_thread, "pthread_kill");
  for (int i = 0; i < 1000 && got == 0; ++i) usleep(1000);
  expect(take() == SIGUSR1, "pthread_kill of the rank's thread");
}

/* Bit n - 1 for signal n. */
static unsigned long field(const char* text, const char* name) {
  const char* const at = strstr(text, name);
  return at != NULL ? strtoul(at + strlen(name), NULL, 16) : ~0UL;
}
/* A shell has a mask of its own, but not where it makes a pipe. */
#define LOOK "cat /proc/self/status | cat"
static void begins_with(FILE* told, const char* what) {
  char text[8192];
  const size_t length = told != NULL ? fread(text, 1, sizeof text - 1, told) : 0;
  text[length] = '\0';
  const unsigned long usr1 = 1UL << (SIGUSR1 - 1), usr2 = 1UL << (SIGUSR2 - 1), first = 0x7fffffff;
  expect((field(text, "SigBlk:") & first) == (rank == 0 ? usr1 : 0), what);
  expect((field(text, "SigIgn:") & usr2) == (rank == 0 ? usr2 : 0), what);
}
static void begins_with_pipe(pid_t child, const int ends[2], const char* what) {
  int status = -1;
  close(ends[1]);
  FILE* const told = fdopen(ends[0], "r");
  begins_with(told, what);
  if (told != NULL) fclose(told);
  expect(child > 0 && waitpid(child, &status, 0) == child && status == 0, what);
}
static void children(void) {
  int ends[2];
  char* const words[] = {"cat", "/proc/self/status", NULL};
  signal(SIGUSR1, SIG_DFL);
  signal(SIGUSR2, rank == 0 ? SIG_IGN : SIG_DFL);
  if (rank == 0) sighold(SIGUSR1);
  MPI_Barrier(MPI_COMM_WORLD);
  FILE* const stream = popen(LOOK, "r");
  begins_with(stream, "popen");
  expect(stream != NULL && pclose(stream) == 0, "pclose");
  expect(pipe(ends) == 0, "pipe");
  pid_t child = fork();
  if (child == 0) dup2(ends[1], 1), execve("/bin/cat", words, environ), _exit(9);
  begins_with_pipe(child, ends, "fork");
  expect(pipe(ends) == 0, "pipe");
  child = vfork();
  if (child == 0) dup2(ends[1], 1), execve("/bin/cat", words, environ), _exit(9);
  begins_with_pipe(child, ends, "vfork");
  expect(pipe(ends) == 0, "pipe");
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends[1], 1);
  expect(posix_spawn(&child, "/bin/cat", &files, NULL, words, environ) == 0, "posix_spawn");
  posix_spawn_file_actions_destroy(&files);
  begins_with_pipe(child, ends, "posix_spawn");
  expect(WTERMSIG(system("kill -TERM $$; exit 0")) == SIGTERM, "a child that is killed");
  sigrelse(SIGUSR1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  children();
  MPI_Barrier(MPI_COMM_WORLD);
  broken_pipes();
  older_calls();
  ignored_faults();
  jumps();
  threads();
  int right = wrong == 0, all;
  MPI_Reduce(&right, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) fprintf(stderr, "right in %d of %d\n", all, size);
  MPI_Finalize();
  return 0;
}
