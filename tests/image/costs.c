/* What calls cost that weft stands before, beside the C library's own: the least of many batches, in nanoseconds, by rank 0 while
   the others wait. No test: a person reads it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int file, null_file;
static sigset_t set;
static struct stat found;

static struct {
  int (*mask)(int, const sigset_t*, sigset_t*);
  ssize_t (*read)(int, void*, size_t);
  ssize_t (*write)(int, const void*, size_t);
  pid_t (*getpid)(void);
  int (*open)(const char*, int, ...);
  int (*close)(int);
  int (*fcntl)(int, int, ...);
  int (*poll)(struct pollfd*, nfds_t, int);
  int (*stat)(const char*, struct stat*);
  char* (*getenv)(const char*);
  int (*sigaction)(int, const struct sigaction*, struct sigaction*);
  int (*lock)(pthread_mutex_t*);
  int (*unlock)(pthread_mutex_t*);
} used, own = {pthread_sigmask, read, write, getpid, open, close, fcntl, poll, stat, getenv, sigaction,
               pthread_mutex_lock, pthread_mutex_unlock};

static char byte;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void call_sigmask(void) { used.mask(SIG_BLOCK, NULL, &set); }
static void call_read(void) { used.read(file, &byte, 1); }
static void call_write(void) { used.write(null_file, &byte, 1); }
static void call_getpid(void) { used.getpid(); }
static void call_open(void) { used.close(used.open("/dev/null", O_RDONLY)); }
static void call_fcntl(void) { used.fcntl(file, F_GETFL); }
static void call_poll(void) {
  struct pollfd one = {null_file, POLLIN, 0};
  used.poll(&one, 1, 0);
}
static void call_stat(void) { used.stat("/dev/null", &found); }
static void call_getenv(void) { used.getenv("HOME"); }
static void call_sigaction(void) {
  struct sigaction now;
  used.sigaction(SIGUSR1, NULL, &now);
}
static void call_lock(void) {
  used.lock(&mutex);
  used.unlock(&mutex);
}

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}
static double cost_of(void (*call)(void)) {
  enum { batch = 20, batches = 1500 };
  double least = 1e9;
  for (int i = 0; i < batches; ++i) {
    const double begin = now_ns();
    for (int j = 0; j < batch; ++j) call();
    const double each = (now_ns() - begin) / batch;
    if (each < least) least = each;
  }
  return least;
}

static void* of_libc(void* library, const char* name) { return dlsym(library, name); }

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    file = open(argc > 1 ? argv[1] : "/proc/self/exe", O_RDONLY);
    null_file = open("/dev/null", O_WRONLY);
    void* const library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    const struct {
      const char* name;
      void (*call)(void);
    } rows[] = {{"pthread_sigmask (asks)", call_sigmask}, {"read of a file", call_read}, {"write to /dev/null", call_write},
                {"getpid", call_getpid}, {"open and close", call_open}, {"fcntl (F_GETFL)", call_fcntl},
                {"poll (no wait)", call_poll}, {"stat", call_stat}, {"getenv", call_getenv},
                {"sigaction (asks)", call_sigaction}, {"mutex lock and unlock", call_lock}};
    printf("%-24s %10s %10s %10s\n", "ns", "weft", "libc", "more");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
      used = own;
      const double with = cost_of(rows[i].call);
      *(void**)&used.mask = of_libc(library, "pthread_sigmask");
      *(void**)&used.read = of_libc(library, "read");
      *(void**)&used.write = of_libc(library, "write");
      *(void**)&used.getpid = of_libc(library, "getpid");
      *(void**)&used.open = of_libc(library, "open");
      *(void**)&used.close = of_libc(library, "close");
      *(void**)&used.fcntl = of_libc(library, "fcntl");
      *(void**)&used.poll = of_libc(library, "poll");
      *(void**)&used.stat = of_libc(library, "stat");
      *(void**)&used.getenv = of_libc(library, "getenv");
      *(void**)&used.sigaction = of_libc(library, "sigaction");
      *(void**)&used.lock = of_libc(library, "pthread_mutex_lock");
      *(void**)&used.unlock = of_libc(library, "pthread_mutex_unlock");
      const double without = cost_of(rows[i].call);
      printf("%-24s %10.1f %10.1f %10.1f\n", rows[i].name, with, without, with - without);
    }
  }
  MPI_Finalize();
  return 0;
}
