/* Calls of MPI that collapse to one place where nobody looks further: behind a wrapper, compiled into their callers, deep down;
   and those whose entry is shared by several functions of the library: paths [starts]. An even number of ranks. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { small = 8, large = 800, deep = 50 };
static int rank, partner;
static char out[large], in[large];

__attribute__((noinline)) static void swap(int bytes) {
  MPI_Sendrecv(out, bytes, MPI_CHAR, partner, 1, in, bytes, MPI_CHAR, partner, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}
__attribute__((noinline)) static void exchange_small(void) {
  for (int i = 0; i < 3; ++i) swap(small);
}
__attribute__((noinline)) static void exchange_large(void) {
  for (int i = 0; i < 5; ++i) swap(large);
}
static inline __attribute__((always_inline)) void meet(void) {
  MPI_Barrier(MPI_COMM_WORLD);
}
__attribute__((noinline)) static void synchronise(void) {
  meet();
}
static volatile int depth_now;
__attribute__((noinline)) static void dig(int depth) {
  if (depth > 0)
    dig(depth - 1);
  else
    MPI_Bcast(out, 4, MPI_CHAR, 0, MPI_COMM_WORLD);
  depth_now = depth; /* So that no call becomes a jump. */
}

__attribute__((noinline)) static void starts(void) {
  int mine = rank, sum = 0, root = 0;
  MPI_Request r[2];
  MPI_Comm other;
  MPI_Ibarrier(MPI_COMM_WORLD, &r[0]);
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[0]);
  MPI_Ibcast(&root, 1, MPI_INT, 0, MPI_COMM_WORLD, &r[1]);
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  MPI_Isend(out, small, MPI_CHAR, partner, 2, MPI_COMM_WORLD, &r[0]);
  MPI_Irecv(in, small, MPI_CHAR, partner, 2, MPI_COMM_WORLD, &r[1]);
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  MPI_Send_init(out, small, MPI_CHAR, partner, 3, MPI_COMM_WORLD, &r[0]);
  MPI_Recv_init(in, small, MPI_CHAR, partner, 3, MPI_COMM_WORLD, &r[1]);
  MPI_Startall(2, r);
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  MPI_Request_free(&r[0]);
  MPI_Request_free(&r[1]);
#if MPI_VERSION >= 4
  MPI_Allreduce_init(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
  MPI_Start(&r[0]);
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  MPI_Request_free(&r[0]);
#endif
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Comm_free(&other);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  partner = rank ^ 1;
  if (argc > 1 && strcmp(argv[1], "starts") == 0) {
    starts();
  } else {
    exchange_small();
    exchange_large();
    synchronise();
    dig(deep);
  }
  if (rank == 0) puts("done");
  MPI_Finalize();
  return 0;
}
