/* Every non-blocking collective, several under way at once, ended in any order, mixed with messages. */
#include "conform.h"

static int in[64 * 300], out[64 * 300];

static void each(void) {
  MPI_Request r;
  int counts[64], places[64], bytes[64];
  MPI_Datatype types[64];
  const int n = 50, sum = size * (size - 1) / 2;
  for (int i = 0; i < size; ++i) counts[i] = n, places[i] = n * i, bytes[i] = 4 * n * i, types[i] = MPI_INT;
#define FILL(expression) do { for (int i = 0; i < n * size; ++i) in[i] = (expression), out[i] = -1; } while (0)
#define ENDED(i_end, wanted) do { MPI_Wait(&r, MPI_STATUS_IGNORE); \
    EXPECT(r == MPI_REQUEST_NULL, "the request lives"); \
    for (int i = 0; i < (i_end); ++i) EXPECT(out[i] == (wanted), "%d: %d, not %d", i, out[i], (wanted)); } while (0)
  MPI_Ibarrier(MPI_COMM_WORLD, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  const int root = size - 1;
  FILL(0);
  for (int i = 0; i < n; ++i) out[i] = rank == root ? i : -1;
  MPI_Ibcast(out, n, MPI_INT, root, MPI_COMM_WORLD, &r);
  ENDED(n, i);
  FILL(rank + i);
  MPI_Ireduce(in, out, n, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD, &r);
  ENDED(n, rank == root ? sum + size * i : -1);
  FILL(rank + i);
  MPI_Iallreduce(in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r);
  ENDED(n, sum + size * i);
  FILL(100 * rank + i);
  MPI_Igather(in, n, MPI_INT, out, n, MPI_INT, root, MPI_COMM_WORLD, &r);
  ENDED(n * size, rank == root ? 100 * (i / n) + i % n : -1);
  FILL(100 * rank + i);
  MPI_Igatherv(in, n, MPI_INT, out, counts, places, MPI_INT, root, MPI_COMM_WORLD, &r);
  ENDED(n * size, rank == root ? 100 * (i / n) + i % n : -1);
  FILL(100 * rank + i);
  MPI_Iallgather(in, n, MPI_INT, out, n, MPI_INT, MPI_COMM_WORLD, &r);
  ENDED(n * size, 100 * (i / n) + i % n);
  FILL(100 * rank + i);
  MPI_Iallgatherv(in, n, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD, &r);
  ENDED(n * size, 100 * (i / n) + i % n);
  FILL(1000 * rank + i);
  MPI_Iscatter(in, n, MPI_INT, out, n, MPI_INT, root, MPI_COMM_WORLD, &r);
  ENDED(n, 1000 * root + n * rank + i);
  FILL(1000 * rank + i);
  MPI_Iscatterv(in, counts, places, MPI_INT, out, n, MPI_INT, root, MPI_COMM_WORLD, &r);
  ENDED(n, 1000 * root + n * rank + i);
  FILL(1000 * rank + i);
  MPI_Ialltoall(in, n, MPI_INT, out, n, MPI_INT, MPI_COMM_WORLD, &r);
  ENDED(n * size, 1000 * (i / n) + n * rank + i % n);
  FILL(1000 * rank + i);
  MPI_Ialltoallv(in, counts, places, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD, &r);
  ENDED(n * size, 1000 * (i / n) + n * rank + i % n);
  FILL(1000 * rank + i);
  MPI_Ialltoallw(in, counts, bytes, types, out, counts, bytes, types, MPI_COMM_WORLD, &r);
  ENDED(n * size, 1000 * (i / n) + n * rank + i % n);
  FILL(rank + i);
  MPI_Ireduce_scatter(in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r);
  ENDED(n, sum + size * (n * rank + i));
  FILL(rank + i);
  MPI_Ireduce_scatter_block(in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r);
  ENDED(n, sum + size * (n * rank + i));
  FILL(rank + i);
  MPI_Iscan(in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r);
  ENDED(n, rank * (rank + 1) / 2 + (rank + 1) * i);
  FILL(rank + i);
  MPI_Iexscan(in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r);
  ENDED(rank == 0 ? 0 : n, rank * (rank - 1) / 2 + rank * i);
  for (int i = 0; i < n; ++i) out[i] = rank + i;
  MPI_Iallreduce(MPI_IN_PLACE, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r);
  ENDED(n, sum + size * i);
}

/* Started in one order, ended in another. */
static void many_at_once(void) {
  enum { many = 40 };
  MPI_Request r[many];
  int one[many], all[many], index = 0;
  for (int k = 0; k < many; ++k) {
    one[k] = rank * k;
    if (k % 2)
      MPI_Iallreduce(&one[k], &all[k], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[k]);
    else
      MPI_Ibcast(&one[k], 1, MPI_INT, k % size, MPI_COMM_WORLD, &r[k]);
  }
  /* Messages and blocking collectives go on meanwhile. */
  int from_left = -1, largest = -1;
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &from_left, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  EXPECT_INT(from_left, (rank + size - 1) % size);
  MPI_Allreduce(&rank, &largest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  EXPECT_INT(largest, size - 1);
  MPI_Wait(&r[many - 1], MPI_STATUS_IGNORE);
  MPI_Waitany(many, r, &index, MPI_STATUS_IGNORE);
  MPI_Waitall(many, r, MPI_STATUSES_IGNORE);
  for (int k = 0; k < many; ++k)
    if (k % 2)
      EXPECT(all[k] == k * size * (size - 1) / 2, "%d: %d", k, all[k]);
    else
      EXPECT(one[k] == k * (k % size), "%d: %d", k, one[k]);
}

static void by_testing(void) {
  MPI_Request r;
  int flag = 0, largest = 0, rounds = 0;
  MPI_Iallreduce(&rank, &largest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &r);
  while (!flag) {
    MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
    ++rounds;
  }
  EXPECT(largest == size - 1 && r == MPI_REQUEST_NULL, "%d after %d", largest, rounds);
}

/* A request of a message and one of a collective in one list; a collective of the other communicator. */
static void mixed(void) {
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Request r[4];
  int got = -1, sum = 0, sum2 = 0;
  MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &r[0]);
  if (rank % 2) {
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, other, &r[1]);
    MPI_Iallreduce(&rank, &sum2, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &r[2]);
  } else { /* Order matters within a communicator only. */
    MPI_Iallreduce(&rank, &sum2, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &r[2]);
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, other, &r[1]);
  }
  MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &r[3]);
  MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
  EXPECT(got == (rank + size - 1) % size && sum == size * (size - 1) / 2 && sum2 == size - 1, "%d %d %d", got, sum, sum2);
  MPI_Comm_free(&other);
}

#ifdef MPI_ABI_VERSION /* Some hang. */
/* Persistent collectives of one communicator, started in another order by each rank. */
static void persistent_in_any_order(void) {
  enum { kinds = 3 };
  int broadcast = rank == 0 ? 42 : -1, sum = -1;
  MPI_Request requests[kinds];
  MPI_Bcast_init(&broadcast, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  MPI_Allreduce_init(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
  for (int round = 0; round < 3; ++round) {
    sum = -1;
    broadcast = rank == 0 ? 42 + round : -1;
    for (int i = 0; i < kinds; ++i) MPI_Start(&requests[(i + rank + round) % kinds]);
    MPI_Waitall(kinds, requests, MPI_STATUSES_IGNORE);
    EXPECT_INT(broadcast, 42 + round);
    EXPECT_INT(sum, size * (size - 1) / 2);
  }
  for (int i = 0; i < kinds; ++i) MPI_Request_free(&requests[i]);
}
#endif

int main(int argc, char** argv) {
  begin(&argc, &argv);
  each();
  many_at_once();
  by_testing();
  mixed();
#ifdef MPI_ABI_VERSION
  persistent_in_any_order();
#endif
  return end();
}
