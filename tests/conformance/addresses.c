/* Data at absolute addresses on both sides of a call, and elements that follow one another downwards. */
#include "conform.h"

/* MPICH and Open MPI move MPI_BOTTOM and negative extents well in messages; Open MPI's collectives do not. */
#ifdef OPEN_MPI
enum { in_collectives = 0 };
#else
enum { in_collectives = 1 };
#endif

enum { most = 32 };
static int next, before;

/* `count` integers, wherever the call says; followed by another such element after `extent` bytes. */
static MPI_Datatype at_address(void* where, int count, MPI_Aint extent) {
  const MPI_Datatype integer = MPI_INT;
  MPI_Datatype there, made;
  MPI_Aint address;
  MPI_Get_address(where, &address);
  MPI_Type_create_struct(1, &count, &address, &integer, &there);
  MPI_Type_create_resized(there, 0, extent, &made);
  MPI_Type_commit(&made);
  MPI_Type_free(&there);
  return made;
}

static int pair[2], all[most][2], counts[most], places[most];
static MPI_Datatype of_pair, of_all;

static void fill(int value) {
  for (int r = 0; r < size; ++r) all[r][0] = all[r][1] = value;
}
static void expect_all(const char* call) {
  for (int r = 0; r < size; ++r)
    EXPECT(all[r][0] == r && all[r][1] == r + 100, "%s: %d, %d from %d", call, all[r][0], all[r][1], r);
}
static void expect_pair(const char* call, int of) {
  EXPECT(pair[0] == of && pair[1] == of + 100, "%s: %d, %d", call, pair[0], pair[1]);
}

static void messages(void) {
  int got[2] = {-1, -1};
  MPI_Datatype of_got = at_address(got, 2, sizeof got);
  MPI_Request requests[2];
  MPI_Sendrecv(MPI_BOTTOM, 1, of_pair, next, 3, MPI_BOTTOM, 1, of_got, before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  EXPECT(got[0] == before && got[1] == before + 100, "%d, %d", got[0], got[1]);
  MPI_Sendrecv_replace(MPI_BOTTOM, 1, of_got, before, 3, next, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  EXPECT(got[0] == rank && got[1] == rank + 100, "%d, %d", got[0], got[1]);
  got[0] = got[1] = -1;
  MPI_Recv_init(MPI_BOTTOM, 1, of_got, before, 4, MPI_COMM_WORLD, &requests[0]);
  MPI_Ssend_init(MPI_BOTTOM, 1, of_pair, next, 4, MPI_COMM_WORLD, &requests[1]);
  MPI_Type_free(&of_got); /* The requests hold it. */
  MPI_Startall(2, requests);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  EXPECT(got[0] == before && got[1] == before + 100, "%d, %d", got[0], got[1]);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

static void from_and_to_all(void) {
  MPI_Request request;
  fill(-1);
  MPI_Allgather(MPI_BOTTOM, 1, of_pair, MPI_BOTTOM, 1, of_all, MPI_COMM_WORLD);
  expect_all("MPI_Allgather");
  fill(-1);
  MPI_Allgatherv(MPI_BOTTOM, 1, of_pair, MPI_BOTTOM, counts, places, of_all, MPI_COMM_WORLD);
  expect_all("MPI_Allgatherv");
  fill(-1);
  MPI_Iallgather(MPI_BOTTOM, 1, of_pair, MPI_BOTTOM, 1, of_all, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect_all("MPI_Iallgather");
  fill(-1);
  MPI_Gather(MPI_BOTTOM, 1, of_pair, MPI_BOTTOM, 1, of_all, 0, MPI_COMM_WORLD);
  if (rank == 0) expect_all("MPI_Gather");
  fill(-1);
  MPI_Gatherv(MPI_BOTTOM, 1, of_pair, MPI_BOTTOM, counts, places, of_all, 0, MPI_COMM_WORLD);
  if (rank == 0) expect_all("MPI_Gatherv");
  pair[0] = pair[1] = -1;
  MPI_Scatter(MPI_BOTTOM, 1, of_all, MPI_BOTTOM, 1, of_pair, 0, MPI_COMM_WORLD);
  expect_pair("MPI_Scatter", rank);
  pair[0] = pair[1] = -1;
  MPI_Scatterv(MPI_BOTTOM, counts, places, of_all, MPI_BOTTOM, 1, of_pair, 0, MPI_COMM_WORLD);
  expect_pair("MPI_Scatterv", rank);
  MPI_Bcast(MPI_BOTTOM, 1, of_pair, size - 1, MPI_COMM_WORLD);
  expect_pair("MPI_Bcast", size - 1);
}

static void all_to_all(void) {
  int out[most], in[most], zeros[most] = {0};
  MPI_Datatype of_out = at_address(out, 1, sizeof(int)), of_in = at_address(in, 1, sizeof(int));
  MPI_Datatype outs[most], ins[most];
  for (int r = 0; r < size; ++r) {
    out[r] = 100 * rank + r;
    outs[r] = at_address(&out[r], 1, sizeof(int));
    ins[r] = at_address(&in[r], 1, sizeof(int));
  }
  for (int way = 0; way < 3; ++way) {
    for (int r = 0; r < size; ++r) in[r] = -1;
    if (way == 0) MPI_Alltoall(MPI_BOTTOM, 1, of_out, MPI_BOTTOM, 1, of_in, MPI_COMM_WORLD);
    if (way == 1)
      MPI_Alltoallv(MPI_BOTTOM, counts, places, of_out, MPI_BOTTOM, counts, places, of_in, MPI_COMM_WORLD);
    if (way == 2)
      MPI_Alltoallw(MPI_BOTTOM, counts, zeros, outs, MPI_BOTTOM, counts, zeros, ins, MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r) EXPECT(in[r] == 100 * r + rank, "way %d: %d from %d", way, in[r], r);
  }
  for (int r = 0; r < size; ++r) {
    MPI_Type_free(&outs[r]);
    MPI_Type_free(&ins[r]);
  }
  MPI_Type_free(&of_out);
  MPI_Type_free(&of_in);
}

/* Each element lies below the one before it. */
static void downwards(void) {
  int up[8], down[8], line[most], mine = -1, count = 0, place = 0;
  char packed[8 * sizeof(int)];
  MPI_Datatype element, block;
  MPI_Aint lower, extent;
  MPI_Status status;
  MPI_Type_create_resized(MPI_INT, 0, -(MPI_Aint)sizeof(int), &element);
  MPI_Type_commit(&element);
  MPI_Type_get_extent(element, &lower, &extent);
  EXPECT(lower == 0 && extent == -(MPI_Aint)sizeof(int), "%ld, %ld", (long)lower, (long)extent);
  MPI_Type_vector(4, 1, -1, MPI_INT, &block); /* Four of them; the next four follow upwards. */
  MPI_Type_commit(&block);
  MPI_Type_get_true_extent(block, &lower, &extent);
  EXPECT(lower == -12 && extent == 16, "%ld, %ld", (long)lower, (long)extent);

  for (int i = 0; i < 8; ++i) up[i] = 10 * rank + i;
  MPI_Sendrecv(up, 8, MPI_INT, next, 0, down + 7, 8, element, before, 0, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, element, &count);
  EXPECT_INT(count, 8);
  for (int i = 0; i < 8; ++i) EXPECT_INT(down[7 - i], 10 * before + i);
  MPI_Sendrecv(up + 3, 2, block, next, 0, down, 8, MPI_INT, before, 0, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, block, &count);
  EXPECT_INT(count, 2);
  for (int i = 0; i < 8; ++i) EXPECT_INT(down[i], 10 * before + i / 4 * 4 + 3 - i % 4);
  MPI_Pack(up + 7, 8, element, packed, sizeof packed, &place, MPI_COMM_WORLD);
  place = 0;
  MPI_Unpack(packed, sizeof packed, &place, down, 8, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < 8; ++i) EXPECT_INT(down[i], up[7 - i]);

  if (in_collectives) {
    MPI_Allgather(&rank, 1, MPI_INT, line + size - 1, 1, element, MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r) EXPECT_INT(line[size - 1 - r], r);
    for (int r = 0; r < size; ++r) line[r] = -1;
    MPI_Gather(&rank, 1, element, line + size - 1, 1, element, 0, MPI_COMM_WORLD);
    for (int r = 0; r < size && rank == 0; ++r) EXPECT_INT(line[size - 1 - r], r);
    MPI_Scatter(line + size - 1, 1, element, &mine, 1, MPI_INT, 0, MPI_COMM_WORLD);
    EXPECT_INT(mine, rank);
    for (int i = 0; i < 8; ++i) up[i] = i;
    MPI_Bcast(rank == 0 ? up + 7 : down, 8, rank == 0 ? element : MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 8 && rank != 0; ++i) EXPECT_INT(down[i], 7 - i);
  }
  MPI_Type_free(&element);
  MPI_Type_free(&block);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (size <= most) {
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    pair[0] = rank;
    pair[1] = rank + 100;
    for (int r = 0; r < size; ++r) counts[r] = 1, places[r] = r;
    of_pair = at_address(pair, 2, sizeof pair);
    of_all = at_address(all, 2, sizeof pair);
    messages();
    if (in_collectives) {
      from_and_to_all();
      all_to_all();
    }
    downwards();
    MPI_Type_free(&of_pair);
    MPI_Type_free(&of_all);
  }
  return end();
}
