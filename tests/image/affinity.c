/* Ranks that bind themselves, and threads that they make. Words: "shared" where several ranks are in a process. */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int wrong;
#define EXPECT(condition) ((condition) ? (void)0 : (void)(++wrong, printf("line %d: " #condition "\n", __LINE__)))

static cpu_set_t only(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return set;
}

/* Where the kernel has the calling thread. */
static void read_place(char* line, int size) {
  FILE* const status = fopen("/proc/thread-self/status", "r");
  line[0] = 0;
  while (fgets(line, size, status) && strncmp(line, "Cpus_allowed_list", 17) != 0) {
  }
  fclose(status);
}

static void* ask(void* found) {
  sched_getaffinity(0, sizeof(cpu_set_t), found);
  return NULL;
}

static pthread_t rank_thread;
static cpu_set_t chosen;
static void* bind_rank(void* unused) {
  (void)unused;
  EXPECT(pthread_setaffinity_np(rank_thread, sizeof chosen, &chosen) == 0);
  return NULL;
}

int main(int argc, char** argv) {
  int rank, cpu = -1, is_shared = argc > 1 && strcmp(argv[1], "shared") == 0;
  char before[300], after[300];
  cpu_set_t set, found;
  pthread_t thread;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  EXPECT(sched_getaffinity(0, sizeof set, &set) == 0);
  for (int i = 0; i < CPU_SETSIZE && cpu < 0; ++i)
    if (CPU_ISSET(i, &set)) cpu = i;
  MPI_Bcast(&cpu, 1, MPI_INT, 0, MPI_COMM_WORLD); /* All choose one CPU. */
  read_place(before, sizeof before);
  set = only(cpu);
  EXPECT(pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0); /* line to be told */
  EXPECT(pthread_getaffinity_np(pthread_self(), sizeof found, &found) == 0 && CPU_EQUAL(&set, &found));
  EXPECT(sched_getaffinity(0, sizeof found, &found) == 0 && CPU_EQUAL(&set, &found));
  EXPECT(sched_setaffinity(0, sizeof set, &set) == 0);
  if (is_shared) {
    EXPECT(sched_setaffinity(gettid(), sizeof set, &set) == 0);
    EXPECT(sched_setaffinity(getpid(), sizeof set, &set) == 0);
    EXPECT(sched_getaffinity(getpid(), sizeof found, &found) == 0 && CPU_EQUAL(&set, &found));
  }
  cpu_set_t nowhere = only(CPU_SETSIZE - 1);
  errno = 0;
  EXPECT(sched_setaffinity(0, sizeof nowhere, &nowhere) == -1 && errno == EINVAL);
  EXPECT(pthread_setaffinity_np(pthread_self(), sizeof nowhere, &nowhere) == EINVAL);
  /* Its threads begin where it has chosen, or where their attributes say. */
  pthread_create(&thread, NULL, ask, &found);
  pthread_join(thread, NULL);
  EXPECT(CPU_EQUAL(&set, &found));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
  pthread_create(&thread, &attributes, ask, &found);
  pthread_join(thread, NULL);
  EXPECT(CPU_EQUAL(&set, &found));
  /* A thread of it binds it, too. */
  rank_thread = pthread_self();
  chosen = set;
  pthread_create(&thread, NULL, bind_rank, NULL);
  pthread_join(thread, NULL);
  read_place(after, sizeof after);
  if (is_shared) EXPECT(strcmp(before, after) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d %s\n", rank, wrong ? "wrong" : "right");
  MPI_Finalize();
  return wrong != 0;
}
