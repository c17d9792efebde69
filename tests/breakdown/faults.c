/* An MPI program with one known fault, which also measures what weftrun --breakdown should find: faults MODE.
   Rank 0 prints lines "expect NAME SECONDS", where NAME is a wait state, "computing RANK" or "asleep RANK",
   and "total SECONDS": of all ranks together. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <weft/loop.h>

enum { iterations = 12, ranks_max = 1024, long_message = 1 << 20 };

static int rank, size;
static double began;
static double enter[iterations], leave[iterations], computed, slept;
static char buffer[long_message];
static volatile double sink;
static double all_enter[ranks_max][iterations], all_leave[ranks_max][iterations], all_computed[ranks_max],
    all_slept[ranks_max], by_cause[ranks_max]; /* Of rank 0. */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void work(double seconds) {
  const double start = now();
  double end = start;
  while (end < start + seconds) {
    for (int i = 0; i < 200; ++i) sink = sink * 0.5 + 1;
    end = now();
  }
  computed += end - start;
}

static void spin(double seconds) {
  for (const double end = now() + seconds; now() < end;) {
  }
}
static void inner_chunk(size_t first, size_t last, void* unused) {
  (void)unused;
  for (size_t i = first; i < last; ++i) spin(i == 0 ? 0.01 : 0.1);
}
static void outer_chunk(size_t first, size_t last, void* own) {
  for (size_t i = first; i < last; ++i) {
    const double start = now();
    if (i == 0) spin(0.15);
    if (i == 0) *(double*)own += now() - start; /* The owner begins there. */
    if (i != 0) weft_parallel_for_grain(0, 2, 1, 1, inner_chunk, NULL);
  }
}

static void rest(double seconds) {
  const double start = now();
  usleep((useconds_t)(seconds * 1e6));
  slept += now() - start;
}

static void message_of(int i, int from, int to, int bytes) {
  if (rank != from && rank != to) return;
  enter[i] = now();
  if (rank == from) MPI_Send(buffer, bytes, MPI_CHAR, to, 1, MPI_COMM_WORLD); /* the send */
  if (rank == to) MPI_Recv(buffer, bytes, MPI_CHAR, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* the receive */
  leave[i] = now();
}

/* So that the sender does not run ahead. */
static void answer(int i, int from, int to) {
  if (rank == from) MPI_Send(&i, 1, MPI_INT, to, 3, MPI_COMM_WORLD);
  if (rank == to) MPI_Recv(&i, 1, MPI_INT, from, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void* receive_in_thread(void* unused) {
  int in;
  MPI_Recv(&in, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return unused;
}

static int is(const char* mode, const char* name) { return strcmp(mode, name) == 0; }

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "late_sender";
  int level = 0;
  MPI_Init_thread(&argc, &argv, is(mode, "helper_thread") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const double step = 0.005;
  int in[ranks_max] = {0}, out[ranks_max];
  if (is(mode, "status")) {
    if (rank == 0) printf("rank %d of %d says this\n", rank, size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1) {
      fflush(stdout);
      exit(3);
    }
    MPI_Finalize();
    return 0;
  }
  if (is(mode, "nested")) { /* A job within the job, of fewer ranks. */
    MPI_Barrier(MPI_COMM_WORLD);
    const int status = rank == 0 ? system(argv[2]) : 0;
    for (int i = 0; i < 3; ++i) {
      MPI_Comm same;
      MPI_Comm_dup(MPI_COMM_WORLD, &same);
      MPI_Barrier(same);
      MPI_Comm_free(&same);
    }
    MPI_Finalize();
    return status != 0;
  }
  if (is(mode, "crash")) {
    work(4 * step);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      work(4 * step);
      abort();
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (is(mode, "deadlock")) {
    work(4 * step);
    MPI_Recv(buffer, 1, MPI_CHAR, (rank + 1) % size, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (is(mode, "many_communicators")) { /* And then a late rank at the last of them. */
    MPI_Comm last;
    for (int i = 0; i < 700; ++i) {
      MPI_Comm_dup(MPI_COMM_WORLD, &last);
      MPI_Barrier(last);
    }
    for (int i = 0; i < 5; ++i) {
      if (rank == size - 1) usleep(20000);
      MPI_Barrier(last);
    }
    MPI_Finalize();
    return 0;
  }
  if (is(mode, "loop_in_chunk")) { /* A thief of rank 0's chunk runs a loop there, of which it waits for a thief. */
    double own = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) weft_parallel_for_grain(0, 2, 1, 1, outer_chunk, &own);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("expect own %f\n", own);
    MPI_Finalize();
    return 0;
  }
  if (is(mode, "helper_thread")) { /* It waits while its rank computes. */
    pthread_t helper;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) pthread_create(&helper, NULL, receive_in_thread, NULL);
    work(0.1);
    if (rank == 0) pthread_join(helper, NULL);
    if (rank == 1) MPI_Send(in, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    if (rank == 0) printf("expect own %f\n", computed);
    MPI_Finalize();
    return 0;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  began = now();
  for (int i = 0; i < iterations; ++i) {
    const int last = rank == size - 1;
    if (is(mode, "late_sender")) {
      if (rank == 0) work(step);
      message_of(i, 0, 1, 8);
      answer(i, 1, 0);
    } else if (is(mode, "late_sender_wait")) {
      MPI_Request r;
      if (rank == 0) work(step);
      enter[i] = now();
      if (rank == 0) MPI_Isend(buffer, 64, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &r);
      if (rank == 1) MPI_Irecv(buffer, 64, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &r);
      if (rank < 2) MPI_Wait(&r, MPI_STATUS_IGNORE);
      leave[i] = now();
      answer(i, 1, 0);
    } else if (is(mode, "late_sender_waitall")) {
      MPI_Request r[2];
      if (rank == 0) work(step);
      enter[i] = now();
      for (int k = 0; k < 2 && rank == 0; ++k) MPI_Isend(buffer + 64 * k, 64, MPI_CHAR, 1, 2 + k, MPI_COMM_WORLD, r + k);
      for (int k = 0; k < 2 && rank == 1; ++k) MPI_Irecv(buffer + 64 * k, 64, MPI_CHAR, 0, 2 + k, MPI_COMM_WORLD, r + k);
      if (rank < 2) MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
      leave[i] = now();
      answer(i, 1, 0);
    } else if (is(mode, "probe")) {
      if (rank == 0) work(step);
      if (rank == 1) MPI_Probe(0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      message_of(i, 0, 1, 8);
      answer(i, 1, 0);
    } else if (is(mode, "early_for_send") || is(mode, "early_for_barrier")) {
      /* A message comes for a receive that nobody waits for yet. */
      MPI_Request r;
      if (i == 4) break;
      if (rank == 0) MPI_Irecv(in, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &r);
      if (rank == 1) {
        usleep(5000);
        MPI_Send(in, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        usleep(20000);
      }
      if (is(mode, "early_for_send"))
        message_of(i, 0, 1, long_message);
      else
        MPI_Barrier(MPI_COMM_WORLD);
      if (rank == 0) MPI_Wait(&r, MPI_STATUS_IGNORE);
    } else if (is(mode, "late_receiver")) {
      if (rank == 1) work(step);
      message_of(i, 0, 1, long_message);
    } else if (is(mode, "barrier") || is(mode, "alltoall")) {
      work(last ? 2.4545 * step : step); /* 1.8 times the mean of 4 ranks */
      enter[i] = now();
      if (is(mode, "barrier"))
        MPI_Barrier(MPI_COMM_WORLD);
      else
        MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD);
      leave[i] = now();
    } else if (is(mode, "broadcast")) {
      if (rank == 0) work(step);
      enter[i] = now();
      MPI_Bcast(in, 1, MPI_INT, 0, MPI_COMM_WORLD);
      leave[i] = now();
    } else if (is(mode, "reduce")) {
      if (rank != 0) work(last ? 2 * step : step);
      enter[i] = now();
      MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
      leave[i] = now();
      MPI_Barrier(MPI_COMM_WORLD);
    } else if (is(mode, "serial")) {
      if (rank == 0) work(step); /* the serial section */
      enter[i] = now();
      MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      leave[i] = now();
    } else if (is(mode, "sleep")) {
      if (rank == 1) rest(0.3 * 2 * step);
      work(rank == 1 ? 0.7 * 2 * step : 2 * step);
      enter[i] = now();
      MPI_Barrier(MPI_COMM_WORLD);
      leave[i] = now();
    }
  }
  const double ran = now() - began;
  double total = 0;
  MPI_Gather(enter, iterations, MPI_DOUBLE, all_enter, iterations, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Gather(leave, iterations, MPI_DOUBLE, all_leave, iterations, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Gather(&computed, 1, MPI_DOUBLE, all_computed, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Gather(&slept, 1, MPI_DOUBLE, all_slept, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Reduce(&ran, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    double waited = 0;
    for (int i = 0; i < iterations; ++i) {
      int last = 0;
      for (int r = 0; r < size; ++r)
        if (all_enter[r][i] > all_enter[last][i]) last = r;
      for (int r = 0; r < size; ++r) {
        int who = is(mode, "broadcast") ? 0 : last;
        if (is(mode, "reduce") && r != 0) continue;
        if (strncmp(mode, "late_", 5) == 0) {
          if (r != (is(mode, "late_receiver") ? 0 : 1)) continue;
          who = 1 - r;
        }
        double late = all_enter[who][i] - all_enter[r][i];
        if (late > all_leave[r][i] - all_enter[r][i]) late = all_leave[r][i] - all_enter[r][i];
        if (late > 0) {
          waited += late;
          by_cause[who] += late;
        }
      }
    }
    printf("expect wait %.9f\n", waited);
    for (int r = 0; r < size; ++r) {
      printf("expect computing %d %.9f\n", r, all_computed[r]);
      printf("expect asleep %d %.9f\n", r, all_slept[r]);
      printf("expect caused %d %.9f\n", r, by_cause[r]);
    }
    printf("total %.9f\n", total);
  }
  MPI_Finalize();
  return 0;
}
