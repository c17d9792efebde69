/* Compiled by weftcc -check and run with --check: what is said of the program's own loads and stores. Each line names a case and
   what weft prints; `right` does the same with order, and nothing is printed.

   CASE received: rank 0 reads 4 bytes in load_.*, while MPI_Irecv, called in .*, may still write them
   CASE sent: rank 0 writes 4 bytes in store_.*, while MPI_Isend, called in .*, may still read them
   CASE copied: rank 0 writes 8 bytes in copy_.*, while MPI_Isend, called in .*, may still read them
   CASE collective: rank [01] reads 4 bytes in load_.*, while MPI_Iallreduce, called in .*, may still write them
   CASE stored: rank 1 writes 4 bytes in store_.* and nothing orders the two|by MPI_Put in .*, and rank 1 writes
   CASE loaded: rank 1 reads 4 bytes in load_.* and nothing orders the two|by MPI_Put in .*, and rank 1 reads
   CASE got: rank 0 reads 4 bytes in load_.*, while MPI_Get, called in .*, may still write them
*/
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static int rank;
static const char *wanted;
static int wrong; /* The case: without its order. */
static int sum;

__attribute__((noinline)) static void load_value(const int *from) { sum += *from; }
__attribute__((noinline)) static void store_value(int *to, int value) { *to = value; }
__attribute__((noinline)) static void copy_values(int *to, const int *from) {
  memcpy(to, from, 2 * sizeof *to);
}

static int is_case(const char *name) {
  wrong = strcmp(name, wanted) == 0;
  return wrong || strcmp("right", wanted) == 0;
}

static void use_of_messages(void) {
  MPI_Request request;
  int value = 7, pair[2] = {1, 2}, same[2] = {1, 2};
  if (is_case("received")) {
    if (rank == 0) {
      MPI_Irecv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
      if (wrong) load_value(&value);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      load_value(&value);
    } else {
      MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
  }
  if (is_case("sent")) {
    if (rank == 0) {
      MPI_Isend(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &request);
      if (wrong) store_value(&value, value); /* Nobody could see it by the value. */
      load_value(&value);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      store_value(&value, 8);
    } else {
      MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  if (is_case("copied")) {
    if (rank == 0) {
      MPI_Isend(pair, 2, MPI_INT, 1, 3, MPI_COMM_WORLD, &request);
      if (wrong) copy_values(pair, same);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      copy_values(pair, same);
    } else {
      MPI_Recv(pair, 2, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  if (is_case("collective")) {
    int all = 0;
    MPI_Iallreduce(&value, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    if (wrong) load_value(&all);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    load_value(&all);
  }
}

static void use_of_windows(void) {
  int *memory, value = 7;
  MPI_Win win;
  MPI_Win_allocate(4 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  store_value(&memory[0], 0);
  MPI_Win_fence(0, win);
  if (is_case("stored")) {
    if (rank == 0) MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
    if (!wrong) MPI_Win_fence(0, win);
    if (rank == 1) store_value(&memory[0], 3);
    MPI_Win_fence(0, win);
  }
  if (is_case("loaded")) {
    if (rank == 0) MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
    if (!wrong) MPI_Win_fence(0, win);
    if (rank == 1) load_value(&memory[0]);
    MPI_Win_fence(0, win);
  }
  if (is_case("got")) {
    if (rank == 0) {
      MPI_Get(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
      if (wrong) load_value(&value);
    }
    MPI_Win_fence(0, win);
    load_value(&value);
  }
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  MPI_Win_free(&win);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  wanted = argc > 1 ? argv[1] : "right";
  static _Atomic int calls; /* Atomic operations of the program go on. */
  if (atomic_fetch_add(&calls, 1) != 0) printf("wrong\n");
  use_of_messages();
  use_of_windows();
  MPI_Finalize();
  return sum == 0x7fffffff;
}
