/* An independent look at a run, for live.py: preloaded into each process of an MPI program, it stands before the functions
   of MPI, adds up the time in them by its own clock, and rank 0 prints POP's efficiencies on standard error:
   "pop EFFICIENCY LOAD-BALANCE COMMUNICATION". What lies between MPI_Init and MPI_Finalize is "phase 9" to weft. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static double begun, in_calls;
static int depth;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define TIMED(name, parameters, arguments)       \
  int name parameters {                          \
    const double start = now();                  \
    ++depth;                                     \
    const int result = P##name arguments;        \
    if (--depth == 0) in_calls += now() - start; \
    return result;                               \
  }

TIMED(MPI_Send, (const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c),
      (b, n, t, to, tag, c))
TIMED(MPI_Recv, (void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status* s),
      (b, n, t, from, tag, c, s))
TIMED(MPI_Isend,
      (const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* r),
      (b, n, t, to, tag, c, r))
TIMED(MPI_Irecv, (void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request* r),
      (b, n, t, from, tag, c, r))
TIMED(MPI_Sendrecv,
      (const void* b, int n, MPI_Datatype t, int to, int tag, void* in, int m, MPI_Datatype u,
       int from, int intag, MPI_Comm c, MPI_Status* s),
      (b, n, t, to, tag, in, m, u, from, intag, c, s))
TIMED(MPI_Wait, (MPI_Request * r, MPI_Status* s), (r, s))
TIMED(MPI_Waitall, (int n, MPI_Request r[], MPI_Status s[]), (n, r, s))
TIMED(MPI_Probe, (int from, int tag, MPI_Comm c, MPI_Status* s), (from, tag, c, s))
TIMED(MPI_Barrier, (MPI_Comm c), (c))
TIMED(MPI_Bcast, (void* b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c))
TIMED(MPI_Reduce, (const void* b, void* in, int n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c),
      (b, in, n, t, o, root, c))
TIMED(MPI_Allreduce, (const void* b, void* in, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c),
      (b, in, n, t, o, c))
TIMED(MPI_Alltoall,
      (const void* b, int n, MPI_Datatype t, void* in, int m, MPI_Datatype u, MPI_Comm c),
      (b, n, t, in, m, u, c))
TIMED(MPI_Gather,
      (const void* b, int n, MPI_Datatype t, void* in, int m, MPI_Datatype u, int root, MPI_Comm c),
      (b, n, t, in, m, u, root, c))

static int opened(int result) {
  PMPI_Pcontrol(9);
  in_calls = 0;
  begun = now();
  return result;
}
int MPI_Init(int* argc, char*** argv) {
  return opened(PMPI_Init(argc, argv));
}
int MPI_Init_thread(int* argc, char*** argv, int wanted, int* level) {
  return opened(PMPI_Init_thread(argc, argv, wanted, level));
}

int MPI_Finalize(void) {
  const double elapsed = now() - begun;
  PMPI_Pcontrol(-9);
  const double useful = elapsed - in_calls, mine[2] = {useful, elapsed};
  double most[2], sum;
  int rank, size;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  PMPI_Reduce(mine, most, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  PMPI_Reduce(&useful, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    fprintf(stderr, "pop %.6f %.6f %.6f\n", sum / size / most[1], sum / size / most[0],
            most[0] / most[1]);
  return PMPI_Finalize();
}
