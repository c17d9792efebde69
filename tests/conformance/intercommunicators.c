/* Two groups that talk: making, messages, collectives, merging. One rank alone has no other group. */
#include "conform.h"

static MPI_Comm mine, other;
static int my_rank, my_size, their_size, is_low;

static void create(void) {
  is_low = rank < (size + 1) / 2;
  MPI_Comm_split(MPI_COMM_WORLD, is_low, rank, &mine);
  MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, is_low ? (size + 1) / 2 : 0, 12, &other);
  int is_inter = 0, world_is_inter = 1, remote = -1, local = -1;
  MPI_Comm_test_inter(other, &is_inter);
  MPI_Comm_test_inter(MPI_COMM_WORLD, &world_is_inter);
  MPI_Comm_remote_size(other, &remote);
  MPI_Comm_size(other, &local);
  MPI_Comm_rank(other, &my_rank);
  MPI_Comm_size(mine, &my_size);
  their_size = size - my_size;
  EXPECT(is_inter && !world_is_inter && remote == their_size && local == my_size, "%d %d", remote, local);
  MPI_Group group, world;
  MPI_Comm_remote_group(other, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int first = 0, at = -1;
  MPI_Group_translate_ranks(group, 1, &first, world, &at);
  EXPECT_INT(at, is_low ? (size + 1) / 2 : 0);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
}

static void messages(void) {
  /* Each sends to the one of its own number, where there is one. */
  MPI_Status status;
  int got = -1;
  const int peer = my_rank < their_size ? my_rank : MPI_PROC_NULL;
  MPI_Sendrecv(&rank, 1, MPI_INT, peer, 0, &got, 1, MPI_INT, peer, 0, other, &status);
  if (peer != MPI_PROC_NULL)
    EXPECT(got == (is_low ? (size + 1) / 2 + my_rank : my_rank) && status.MPI_SOURCE == peer, "%d from %d", got,
           status.MPI_SOURCE);
  MPI_Request r;
  MPI_Isend(&rank, 1, MPI_INT, my_rank % their_size, 1, other, &r);
  for (int i = my_rank; i < their_size; i += my_size) {
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, other, &status);
    EXPECT(status.MPI_SOURCE % my_size == my_rank && status.MPI_SOURCE < their_size, "from %d", status.MPI_SOURCE);
  }
  MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void collectives(void) {
  const int their_first = is_low ? (size + 1) / 2 : 0;
  MPI_Barrier(other);
  int value = rank == 0 ? 77 : -1;
  if (is_low)
    MPI_Bcast(&value, 1, MPI_INT, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, other);
  else
    MPI_Bcast(&value, 1, MPI_INT, 0, other);
  EXPECT_INT(value, is_low && rank != 0 ? -1 : 77);
  int sum = -1, wanted = 0;
  for (int i = 0; i < their_size; ++i) wanted += their_first + i;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, other); /* Of the others. */
  EXPECT_INT(sum, wanted);
  sum = -1;
  MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, is_low ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0, other);
  EXPECT_INT(sum, rank == 0 ? wanted : -1);
  int got[64];
  MPI_Allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, other);
  for (int i = 0; i < their_size; ++i) EXPECT(got[i] == their_first + i, "%d: %d", i, got[i]);
  MPI_Gather(&rank, 1, MPI_INT, got, 1, MPI_INT, is_low ? 0 : my_rank == 0 ? MPI_ROOT : MPI_PROC_NULL, other);
  if (!is_low && my_rank == 0)
    for (int i = 0; i < their_size; ++i) EXPECT(got[i] == i, "%d: %d", i, got[i]);
  int out[64];
  for (int i = 0; i < their_size; ++i) out[i] = 100 * rank + i;
  MPI_Scatter(out, 1, MPI_INT, got, 1, MPI_INT, is_low ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0, other);
  if (!is_low) EXPECT_INT(got[0], my_rank);
  MPI_Alltoall(out, 1, MPI_INT, got, 1, MPI_INT, other);
  for (int i = 0; i < their_size; ++i) EXPECT(got[i] == 100 * (their_first + i) + my_rank, "%d: %d", i, got[i]);
}

static void copies_and_merging(void) {
  MPI_Comm copy, whole;
  int result = -1, n = -1, r = -1, sum = 0;
  MPI_Comm_dup(other, &copy);
  MPI_Comm_compare(other, copy, &result);
  EXPECT_INT(result, MPI_CONGRUENT);
  MPI_Comm_compare(other, MPI_COMM_WORLD, &result);
  EXPECT_INT(result, MPI_UNEQUAL);
  MPI_Intercomm_merge(copy, is_low, &whole); /* The low ones come last. */
  MPI_Comm_size(whole, &n);
  MPI_Comm_rank(whole, &r);
  EXPECT(n == size && r == (is_low ? their_size + my_rank : my_rank), "%d of %d", r, n);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, whole);
  EXPECT_INT(sum, size * (size - 1) / 2);
  MPI_Comm_free(&whole);
  MPI_Comm_free(&copy);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (size > 1) {
    create();
    messages();
    collectives();
    copies_and_merging();
    MPI_Comm_free(&other);
    MPI_Comm_free(&mine);
  }
  return end();
}
