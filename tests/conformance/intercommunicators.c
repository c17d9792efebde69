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
  /* Of 8 bytes, to receives that are posted; of several, the first is not always the one meant. */
  MPI_Request posted[3];
  int given[3][2], taken[3][2];
  for (int tag = 0; tag < 3; ++tag) MPI_Irecv(taken[tag], 2, MPI_INT, peer, tag, other, &posted[tag]);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 3; ++i) {
    const int tag = (i + 1) % 3;
    given[tag][0] = rank, given[tag][1] = 10 + tag;
    if (i == 1)
      MPI_Isend(given[tag], 2, MPI_INT, peer, tag, other, &r), MPI_Wait(&r, MPI_STATUS_IGNORE);
    else
      MPI_Send(given[tag], 2, MPI_INT, peer, tag, other);
  }
  for (int tag = 0; tag < 3; ++tag) {
    MPI_Wait(&posted[tag], &status);
    if (peer != MPI_PROC_NULL)
      EXPECT(taken[tag][0] == (is_low ? (size + 1) / 2 + my_rank : my_rank) && taken[tag][1] == 10 + tag &&
                 status.MPI_SOURCE == peer && status.MPI_TAG == tag,
             "tag %d: %d, %d from %d", tag, taken[tag][0], taken[tag][1], status.MPI_SOURCE);
  }
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
#ifndef OPEN_MPI /* 4.1 refuses the count. */
  /* Beside the root nothing that is passed matters. */
  const int is_idle = is_low && rank != 0;
  MPI_Reduce(is_idle ? NULL : &rank, is_idle ? NULL : &sum, is_idle ? -1 : 1, is_idle ? MPI_BYTE : MPI_INT, MPI_SUM,
             is_low ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0, other);
  EXPECT_INT(sum, rank == 0 ? wanted : -1);
#endif
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

static int copied;
static int copy_value(MPI_Comm from, int key, void* state, void* in, void* out, int* flag) {
  (void)from, (void)key, (void)state;
  *(void**)out = (char*)in + 1;
  *flag = 1;
  ++copied;
  return MPI_SUCCESS;
}

/* Attributes and error handlers of a copy; one made meanwhile. */
static void what_copies_have(void) {
  static char value[3];
  MPI_Comm copy;
  MPI_Request request;
  MPI_Errhandler handler;
  char* got = NULL;
  int key, flag = 0, n = -1;
  MPI_Comm_create_keyval(copy_value, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_set_attr(other, key, value);
  MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN);
  MPI_Comm_idup(other, &copy, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_get_attr(copy, key, &got, &flag);
  EXPECT(flag && got == value + 1 && copied == 1, "%d, copied %d times", flag, copied);
  MPI_Comm_get_errhandler(copy, &handler);
  EXPECT(handler == MPI_ERRORS_RETURN, "another handler");
  MPI_Comm_remote_size(copy, &n);
  EXPECT_INT(n, their_size);
  EXPECT_CLASS(MPI_Send(&n, 1, MPI_INT, their_size, 0, copy), MPI_ERR_RANK); /* Ranks are the other group's. */
  EXPECT_CLASS(MPI_Bcast(&n, 1, MPI_INT, their_size, copy), MPI_ERR_ROOT);
#ifdef MPI_ABI_VERSION /* Some take them, or fault. */
  int two[2] = {1, 2};
  EXPECT_CLASS(MPI_Scan(&n, two, 1, MPI_INT, MPI_SUM, copy), MPI_ERR_COMM);
  EXPECT_CLASS(MPI_Allreduce(MPI_IN_PLACE, two, 1, MPI_INT, MPI_SUM, copy), MPI_ERR_BUFFER);
  MPI_Comm none;
  EXPECT_CLASS(MPI_Cart_create(copy, 1, two, two, 0, &none), MPI_ERR_COMM);
#endif
  MPI_Comm_free(&copy);
  MPI_Comm_set_errhandler(other, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_delete_attr(other, key);
  MPI_Comm_free_keyval(&key);
}

/* Parts of both groups. */
static void parts(void) {
  MPI_Comm part;
  MPI_Group all, odd;
  int n = -1, m = -1, r = -1, sum = -1;
  /* By color: those of even and of odd numbers, in reverse order. A part with one group only is none. */
  MPI_Comm_split(other, my_rank % 2, -my_rank, &part);
  const int mine_here = my_rank % 2 ? my_size / 2 : (my_size + 1) / 2, theirs = my_rank % 2 ? their_size / 2 : (their_size + 1) / 2;
  EXPECT((part == MPI_COMM_NULL) == (theirs == 0), "%d of them", theirs);
  if (part != MPI_COMM_NULL) {
    MPI_Comm_size(part, &n);
    MPI_Comm_remote_size(part, &m);
    MPI_Comm_rank(part, &r);
    EXPECT(n == mine_here && m == theirs && r == mine_here - 1 - my_rank / 2, "%d and %d, %d", n, m, r);
    int one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, part);
    EXPECT_INT(sum, theirs);
    MPI_Comm_free(&part);
  }
#ifdef MPI_ABI_VERSION /* Not all can. */
  MPI_Comm_split_type(other, MPI_COMM_TYPE_SHARED, -my_rank, MPI_INFO_NULL, &part);
  EXPECT(part != MPI_COMM_NULL, "of one machine");
  if (part != MPI_COMM_NULL) {
    MPI_Comm_size(part, &n);
    MPI_Comm_remote_size(part, &m);
    MPI_Comm_rank(part, &r);
    EXPECT(n == my_size && m == their_size && r == my_size - 1 - my_rank, "%d and %d, %d", n, m, r);
    MPI_Comm_free(&part);
  }
  MPI_Comm_split_type(other, my_rank == 0 ? MPI_COMM_TYPE_SHARED : MPI_UNDEFINED, 0, MPI_INFO_NULL, &part);
  EXPECT((part == MPI_COMM_NULL) == (my_rank != 0), "rank %d", my_rank);
  if (part != MPI_COMM_NULL) MPI_Comm_free(&part);
#endif
  /* By groups: the first of each. */
  int first = 0;
  MPI_Comm_group(other, &all);
  MPI_Group_incl(all, 1, &first, &odd);
  MPI_Comm_create(other, odd, &part);
  EXPECT((part == MPI_COMM_NULL) == (my_rank != 0), "rank %d", my_rank);
  if (part != MPI_COMM_NULL) {
    MPI_Comm_remote_size(part, &m);
    int got = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, 0, 3, &got, 1, MPI_INT, 0, 3, part, MPI_STATUS_IGNORE);
    EXPECT(m == 1 && got == (is_low ? (size + 1) / 2 : 0), "%d, %d", m, got);
    MPI_Comm_free(&part);
  }
  MPI_Group_free(&odd);
  MPI_Group_free(&all);
}

/* Several at once, ended in another order, with a message between. */
static void many_at_once(void) {
  enum { many = 12 };
  MPI_Request requests[many];
  int sums[many], got = -1;
  for (int i = 0; i < many; ++i) {
    sums[i] = -1;
    if (i % 3 == 0) MPI_Ibarrier(other, &requests[i]);
    if (i % 3 == 1) MPI_Iallreduce(&rank, &sums[i], 1, MPI_INT, MPI_MAX, other, &requests[i]);
    if (i % 3 == 2) MPI_Iallreduce(&rank, &sums[i], 1, MPI_INT, MPI_MIN, other, &requests[i]);
  }
  const int peer = my_rank < their_size ? my_rank : MPI_PROC_NULL;
  MPI_Sendrecv(&rank, 1, MPI_INT, peer, 9, &got, 1, MPI_INT, peer, 9, other, MPI_STATUS_IGNORE);
  MPI_Wait(&requests[many - 1], MPI_STATUS_IGNORE);
  MPI_Waitall(many, requests, MPI_STATUSES_IGNORE);
  const int lowest = is_low ? (size + 1) / 2 : 0;
  for (int i = 0; i < many; ++i)
    EXPECT_INT(sums[i], i % 3 == 0 ? -1 : i % 3 == 1 ? lowest + their_size - 1 : lowest);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (size > 1) {
    create();
    messages();
    collectives();
    copies_and_merging();
    what_copies_have();
    parts();
    many_at_once();
    MPI_Comm_free(&other);
    MPI_Comm_free(&mine);
  }
  return end();
}
