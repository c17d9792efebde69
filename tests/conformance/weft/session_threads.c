/* Threads that make communicators of one group at once, by other strings, and sessions of their own.

   Run with: -n 1
   Run with: -n 4
   Run with: -n 5 --processes 2
   Run with: -n 3 --ranks-per-process 1
   Run with: -n 4 --processes 2 --check */
#include "../conform.h"
#include <pthread.h>

enum { threads = 3, turns = 10 };
static MPI_Session session;
static MPI_Group all;
static int wrong_in[threads];

static MPI_Info multiple(void) {
  MPI_Info wish;
  MPI_Info_create(&wish);
  MPI_Info_set(wish, "thread_level", "MPI_THREAD_MULTIPLE");
  return wish;
}

static int sum_of(MPI_Comm comm, int mine) {
  int sum = -1;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
  return sum;
}

static void* make_some(void* number) {
  const int t = (int)(long)number;
  for (int turn = 0; turn < turns; ++turn) {
    char tag[32];
    MPI_Comm comm;
    snprintf(tag, sizeof tag, "thread %d", t); /* The same in each turn. */
    MPI_Comm_create_from_group(all, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    wrong_in[t] += sum_of(comm, 1 + t) != size * (1 + t);
    MPI_Comm_free(&comm);
    /* A session of the thread's own. */
    MPI_Session own;
    MPI_Group group;
    MPI_Info wish = multiple();
    MPI_Session_init(wish, MPI_ERRORS_ARE_FATAL, &own);
    MPI_Info_free(&wish);
    MPI_Group_from_session_pset(own, "mpi://WORLD", &group);
    snprintf(tag, sizeof tag, "own %d of thread %d", turn, t);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    wrong_in[t] += sum_of(comm, 10 * t + turn) != size * (10 * t + turn);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&own);
  }
  return NULL;
}

static void cycle(void) {
  MPI_Info wish = multiple(), used;
  MPI_Session_init(wish, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Info_free(&wish);
  char level[40] = "";
  int length = sizeof level, is_there = 0;
  MPI_Session_get_info(session, &used);
  MPI_Info_get_string(used, "thread_level", &length, level, &is_there);
  EXPECT(is_there && strcmp(level, "MPI_THREAD_MULTIPLE") == 0, "%s", level);
  MPI_Info_free(&used);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
  MPI_Group_size(all, &size);
  MPI_Group_rank(all, &rank);
  pthread_t made[threads];
  for (long t = 0; t < threads; ++t) pthread_create(&made[t], NULL, make_some, (void*)t);
  for (int t = 0; t < threads; ++t) pthread_join(made[t], NULL);
  for (int t = 0; t < threads; ++t) EXPECT_INT(wrong_in[t], 0);
}

int main(void) {
  for (int i = 0; i < 2; ++i) {
    cycle();
    if (i == 0) MPI_Group_free(&all), MPI_Session_finalize(&session);
  }
  MPI_Comm comm;
  MPI_Comm_create_from_group(all, "end", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  const int wrong = sum_of(comm, wrong_count);
  if (rank == 0) printf(wrong == 0 ? "right\n" : "wrong: %d\n", wrong);
  fflush(stdout);
  MPI_Comm_free(&comm);
  MPI_Group_free(&all);
  MPI_Session_finalize(&session);
  return wrong != 0;
}
