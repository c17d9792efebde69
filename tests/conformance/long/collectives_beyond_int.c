/* Broadcasts, gathers, scatters and exchanges of more than 2^31 elements, to places beyond 2^32.

   Run with: -n 2 --timeout 900
   Run with: -n 2 --ranks-per-process 1 --timeout 900
   Run with: -n 3 --processes 2 --timeout 900 */
#define _GNU_SOURCE
#include "beyond_int.h"

static const long most = 2100;                            /* MiB; a bit more than 2^31 bytes. */
static const long near = 10, far = 4200, farther = 4300; /* Where the parts of ranks begin in memory, in MiB. */
static const long little = 3;                            /* MiB of those that are small. */
static const MPI_Comm w = MPI_COMM_WORLD;
static unsigned char *out, *in;
static unsigned char from[8][mib]; /* What each rank sends. */

/* Rank 1's share is the large one. */
static MPI_Count counts[8];
static MPI_Aint places[8];
static long mibs_of(int r) { return r == 1 ? most : little + r; }

/* What the part of rank `r` is followed by, which stays as it is. */
static unsigned char* behind(int r) { return in + places[r] + counts[r]; }

static void guard(void) {
  for (int r = 0; r < size; ++r) *behind(r) = behind(r)[mib - 1] = 0x5a;
}

static void expect_parts(const char* what) {
  for (int r = 0; r < size; ++r) {
    EXPECT(*behind(r) == 0x5a && behind(r)[mib - 1] == 0x5a, "%s: behind the part of rank %d", what, r);
    expect_all(what, in + places[r], from[r], counts[r] / mib);
  }
}

/* Other data than before, so that nothing left over looks right. */
static void refill(void) {
  static int time;
  ++time;
  for (int r = 0; r < size; ++r) fill(from[r], r, time);
  memcpy(out, from[rank], mib);
  guard();
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  out = repeated(most);
  in = memory(farther + 100);
  for (int r = 0; r < size; ++r) {
    counts[r] = mibs_of(r) * mib;
    places[r] = (r == 0 ? far : r == 1 ? near : farther) * mib;
  }
  const MPI_Count mine = counts[rank];
  MPI_Request request;

  refill();
  MPI_Bcast_c(rank == 1 ? out : in + near * mib, most * mib, MPI_CHAR, 1, w);
  if (rank != 1) expect_all("MPI_Bcast_c", in + near * mib, from[1], most);

  refill();
  MPI_Gatherv_c(out, mine, MPI_CHAR, in, counts, places, MPI_CHAR, 0, w);
  if (rank == 0) expect_parts("MPI_Gatherv_c");

  refill();
  MPI_Allgatherv_c(out, mine, MPI_CHAR, in, counts, places, MPI_CHAR, w);
  expect_parts("MPI_Allgatherv_c");

  refill();
  MPI_Iallgatherv_c(out, mine, MPI_CHAR, in, counts, places, MPI_CHAR, w, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect_parts("MPI_Iallgatherv_c");

  /* The parts of what rank 0 scatters lie in one another's memory as far as they may. */
  MPI_Aint starts[8];
  for (int r = 0; r < size; ++r) starts[r] = r == 1 ? 0 : (most - 10) * mib; /* Beyond 2^31. */
  refill();
  MPI_Scatterv_c(out, counts, starts, MPI_CHAR, in + near * mib, mine, MPI_CHAR, 0, w);
  expect_all("MPI_Scatterv_c", in + near * mib, from[0], mibs_of(rank));

  /* Rank 0 sends the large part to rank 1, and each a small one from beyond 2^31 to the others. */
  MPI_Count sent[8];
  for (int r = 0; r < size; ++r) {
    sent[r] = (rank == 0 && r == 1 ? most : little + r) * mib;
    starts[r] = rank == 0 && r == 1 ? 0 : (most - 10) * mib;
    counts[r] = (rank == 1 && r == 0 ? most : little + rank) * mib;
    places[r] = (r == 0 ? near : r == 1 ? far : farther) * mib;
  }
  refill();
  MPI_Alltoallv_c(out, sent, starts, MPI_CHAR, in, counts, places, MPI_CHAR, w);
  expect_parts("MPI_Alltoallv_c");

  /* The same in ints, of which there are fewer than 2^31: places are counted in them. */
  int few[8], at[8];
  for (int r = 0; r < size; ++r) {
    counts[r] = mibs_of(r) * mib;
    places[r] = (r == 0 ? far : r == 1 ? near : farther) * mib;
    few[r] = (int)(counts[r] / 4), at[r] = (int)(places[r] / 4);
  }
  refill();
  MPI_Allgatherv(out, few[rank], MPI_INT, in, few, at, MPI_INT, w);
  expect_parts("MPI_Allgatherv");

  /* Shares that are small and only together more than 2^31. */
  const long share = most / size + 1;
  refill();
  MPI_Allgather(out, (int)(share * mib), MPI_CHAR, in, (int)(share * mib), MPI_CHAR, w);
  for (int r = 0; r < size; ++r) expect_all("MPI_Allgather", in + r * share * mib, from[r], share);
  refill();
  MPI_Alltoall_c(out, most / size * mib, MPI_CHAR, in, most / size * mib, MPI_CHAR, w);
  for (int r = 0; r < size; ++r) expect_all("MPI_Alltoall_c", in + r * (most / size) * mib, from[r], most / size);
  return end();
}
