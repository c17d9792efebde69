/* A rod that warms up from one end, by Jacobi steps, which goes on when a process dies: those that live shrink the
   communicator, take the last state that all had saved, share it out anew and go on from there.

     weftcc -O2 survivors.c -o survivors && weftrun --on-failure error -n 6 --processes 3 ./survivors [VICTIM]

   VICTIM: the rank that kills its process in the middle; none without it. The sum at the end is the same.

   Not with: mpich (built without failure mitigation)
   Not with: openmpi (4.1: it has none) */
#include <mpi-ext.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { points = 1200, steps = 600, saved_every = 50 };

static MPI_Comm comm;
static int rank, size, first, end;            /* The points of this rank. */
static double now[points + 2], next[points + 2]; /* The whole rod, of which a rank knows its part and the borders. */
static double saved[points + 2];              /* A copy of the whole, as it was at `saved_step`. */
static int saved_step;

static void share_out(void) {
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  first = 1 + points * rank / size;
  end = 1 + points * (rank + 1) / size;
}

/* Each call returns an error class; the first that is none ends a step. */
static int exchange_borders(void) {
  const int left = rank == 0 ? MPI_PROC_NULL : rank - 1, right = rank == size - 1 ? MPI_PROC_NULL : rank + 1;
  int error = MPI_Sendrecv(&now[first], 1, MPI_DOUBLE, left, 0, &now[end], 1, MPI_DOUBLE, right, 0, comm, MPI_STATUS_IGNORE);
  if (error == MPI_SUCCESS)
    error = MPI_Sendrecv(&now[end - 1], 1, MPI_DOUBLE, right, 1, &now[first - 1], 1, MPI_DOUBLE, left, 1, comm,
                         MPI_STATUS_IGNORE);
  return error;
}

static int save(int step) {
  int counts[size], places[size];
  static double whole[points + 2];
  for (int r = 0; r < size; ++r) {
    places[r] = 1 + points * r / size;
    counts[r] = 1 + points * (r + 1) / size - places[r];
  }
  const int error = MPI_Allgatherv(&now[first], end - first, MPI_DOUBLE, whole, counts, places, MPI_DOUBLE, comm);
  /* All or nobody: the agreement ends alike on all ranks. */
  int good = error == MPI_SUCCESS;
  const int agreed = MPIX_Comm_agree(comm, &good);
  if (agreed != MPI_SUCCESS || !good) return MPIX_ERR_PROC_FAILED;
  memcpy(&saved[1], &whole[1], points * sizeof *saved);
  saved_step = step;
  return MPI_SUCCESS;
}

static int run(int step, int victim) {
  for (; step < steps; ++step) {
    if (step % saved_every == 0) {
      const int error = save(step);
      if (error != MPI_SUCCESS) return error;
    }
    int world_rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    if (world_rank == victim && step == steps / 2 + 7) kill(getpid(), SIGKILL);
    const int error = exchange_borders();
    if (error != MPI_SUCCESS) return error;
    for (int i = first; i < end; ++i) next[i] = (now[i - 1] + 2 * now[i] + now[i + 1]) / 4;
    memcpy(&now[first], &next[first], (size_t)(end - first) * sizeof *now);
  }
  return save(steps);
}

static void go_on_without_dead(void) {
  MPI_Comm living;
  MPIX_Comm_revoke(comm); /* Those whose neighbours live hear of it, too. */
  MPIX_Comm_shrink(comm, &living);
  MPI_Comm_free(&comm);
  comm = living;
  share_out();
  /* A rank may have saved a step that another has not: the agreement before has ended alike on all, so they are equal. */
  memcpy(now, saved, sizeof now);
  if (rank == 0) printf("%d ranks go on from step %d\n", size, saved_step);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  share_out();
  now[0] = saved[0] = 100;
  const int victim = argc > 1 ? atoi(argv[1]) : -1;
  while (run(saved_step, victim) != MPI_SUCCESS) go_on_without_dead();
  double sum = 0;
  for (int i = 1; i <= points; ++i) sum += saved[i];
  if (rank == 0) printf("after %d steps the rod has %.6f\n", steps, sum);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
