/* Partitioned messages: partitions in any order, other numbers of them at both sides, by range and by list, from several
   threads, again and again. Not with: openmpi (4.1), which has none. MPI_PROC_NULL, at which MPICH 4.0
   crashes, is in weft/partitioned_more.c. */
#include "conform.h"

#define CALLS(x) EXPECT_INT((x), MPI_SUCCESS)

static double sent[4096], got[4096];
static int right, left;

static double value(int from, int round, int i) { return from * 1e6 + round * 1e4 + i; }

static void fill(int round, int begin, int end) {
  for (int i = begin; i < end; ++i) sent[i] = value(rank, round, i);
}

static void check(int round, int count) {
  for (int i = 0; i < count; ++i)
    if (got[i] != value(left, round, i)) {
      EXPECT(0, "round %d: element %d is %g, not %g", round, i, got[i], value(left, round, i));
      return;
    }
}

static int arrived(MPI_Request r, int partition) {
  int flag = -1;
  CALLS(MPI_Parrived(r, partition, &flag));
  EXPECT(flag == 0 || flag == 1, "%d", flag);
  return flag;
}

/* `count` elements in so many partitions, round the ring. */
static void ring(int partitions_sent, int partitions_got, int count, int rounds) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  CALLS(MPI_Psend_init(sent, partitions_sent, count / partitions_sent, MPI_DOUBLE, right, 7, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &requests[0]));
  CALLS(MPI_Precv_init(got, partitions_got, count / partitions_got, MPI_DOUBLE, left, 7, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &requests[1]));
  const int each = count / partitions_sent;
  for (int round = 0; round < rounds; ++round) {
    memset(got, 0, sizeof got);
    if (round % 2 == 0) {
      CALLS(MPI_Startall(2, requests));
    } else {
      CALLS(MPI_Start(&requests[0]));
      CALLS(MPI_Start(&requests[1]));
    }
    for (int i = 0; i < partitions_sent; ++i) {
      const int p = round % 3 == 1 ? partitions_sent - 1 - i : i; /* From behind. */
      fill(round, p * each, (p + 1) * each);
      CALLS(MPI_Pready(p, requests[0]));
    }
    for (int p = 0; p < partitions_got; ++p)
      while (!arrived(requests[1], p)) {
      }
    if (round % 2 == 0) {
      CALLS(MPI_Waitall(2, requests, statuses));
    } else {
      int flag = 0;
      CALLS(MPI_Wait(&requests[0], &statuses[0]));
      while (!flag) CALLS(MPI_Test(&requests[1], &flag, &statuses[1]));
    }
    check(round, count);
    int elements = -1;
    MPI_Get_count(&statuses[1], MPI_DOUBLE, &elements);
    EXPECT(elements == count && statuses[1].MPI_SOURCE == left && statuses[1].MPI_TAG == 7, "%d from %d", elements,
           statuses[1].MPI_SOURCE);
    EXPECT(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL, "a request has gone");
  }
  CALLS(MPI_Request_free(&requests[0]));
  CALLS(MPI_Request_free(&requests[1]));
}

static void ranges_and_lists(void) {
  MPI_Request requests[2];
  CALLS(MPI_Psend_init(sent, 16, 4, MPI_DOUBLE, right, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  CALLS(MPI_Precv_init(got, 1, 64, MPI_DOUBLE, left, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
  for (int round = 0; round < 4; ++round) {
    const int list[] = {0, 5, 3, 1, 2, 4}, few[] = {15, 6};
    CALLS(MPI_Startall(2, requests));
    fill(round, 0, 64);
    CALLS(MPI_Pready_list(6, list, requests[0]));
    CALLS(MPI_Pready_range(7, 14, requests[0]));
    EXPECT(!arrived(requests[1], 0) || size > 1, "arrived before all was ready");
    CALLS(MPI_Pready_list(2, few, requests[0]));
    CALLS(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    check(round, 64);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

/* Several messages of one pair and tag, matched in the order in which they are made; and ordinary messages beside. */
static void several(void) {
  enum { messages = 5 };
  static int out[messages][8], in[messages][8];
  MPI_Request sends[messages], receives[messages];
  for (int m = 0; m < messages; ++m) {
    CALLS(MPI_Precv_init(in[m], 2, 4, MPI_INT, left, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &receives[m]));
    CALLS(MPI_Psend_init(out[m], 4, 2, MPI_INT, right, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &sends[m]));
  }
  for (int round = 0; round < 3; ++round) {
    CALLS(MPI_Startall(messages, receives));
    CALLS(MPI_Startall(messages, sends));
    int plain = rank, from = -1;
    MPI_Sendrecv(&plain, 1, MPI_INT, right, 9, &from, 1, MPI_INT, left, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT_INT(from, left);
    for (int m = messages - 1; m >= 0; --m) {
      for (int i = 0; i < 8; ++i) out[m][i] = 1000 * rank + 100 * round + 10 * m + i;
      CALLS(MPI_Pready_range(0, 3, sends[m]));
    }
    CALLS(MPI_Waitall(messages, sends, MPI_STATUSES_IGNORE));
    CALLS(MPI_Waitall(messages, receives, MPI_STATUSES_IGNORE));
    for (int m = 0; m < messages; ++m)
      for (int i = 0; i < 8; ++i) EXPECT_INT(in[m][i], 1000 * left + 100 * round + 10 * m + i);
  }
  for (int m = 0; m < messages; ++m) {
    MPI_Request_free(&sends[m]);
    MPI_Request_free(&receives[m]);
  }
}

/* A receiver that comes after all is ready, and one that comes long before. */
static void early_and_late(void) {
  MPI_Request r = MPI_REQUEST_NULL;
  if (size < 2) return;
  for (int late = 0; late < 2; ++late) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      if (!late) MPI_Barrier(MPI_COMM_WORLD);
      CALLS(MPI_Psend_init(sent, 8, 8, MPI_DOUBLE, 1, 10, MPI_COMM_WORLD, MPI_INFO_NULL, &r));
      CALLS(MPI_Start(&r));
      fill(late, 0, 64);
      CALLS(MPI_Pready_range(0, 7, r));
      if (late) MPI_Barrier(MPI_COMM_WORLD);
      CALLS(MPI_Wait(&r, MPI_STATUS_IGNORE));
    } else if (rank == 1) {
      if (late) MPI_Barrier(MPI_COMM_WORLD);
      memset(got, 0, sizeof got);
      CALLS(MPI_Precv_init(got, 8, 8, MPI_DOUBLE, 0, 10, MPI_COMM_WORLD, MPI_INFO_NULL, &r));
      CALLS(MPI_Start(&r));
      if (!late) EXPECT(!arrived(r, 0), "arrived before it was sent");
      if (!late) MPI_Barrier(MPI_COMM_WORLD);
      CALLS(MPI_Wait(&r, MPI_STATUS_IGNORE));
      for (int i = 0; i < 64; ++i) EXPECT(got[i] == value(0, late, i), "%d: %g", i, got[i]);
    } else {
      MPI_Barrier(MPI_COMM_WORLD);
    }
    if (r != MPI_REQUEST_NULL) MPI_Request_free(&r);
  }
}

/* Columns of a matrix. */
static void layouts(void) {
  enum { n = 24 };
  static double from[n][n], to[n][n];
  MPI_Datatype column, narrow;
  MPI_Type_vector(n, 1, n, MPI_DOUBLE, &column);
  MPI_Type_create_resized(column, 0, sizeof(double), &narrow);
  MPI_Type_commit(&narrow);
  MPI_Request requests[2];
  CALLS(MPI_Psend_init(from, n, 1, narrow, right, 11, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  CALLS(MPI_Precv_init(to, n / 2, 2 * n, MPI_DOUBLE, left, 11, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
  MPI_Type_free(&narrow);
  for (int round = 0; round < 3; ++round) {
    CALLS(MPI_Startall(2, requests));
    for (int c = 0; c < n; ++c) {
      for (int r = 0; r < n; ++r) from[r][c] = value(rank, round, r * n + c);
      CALLS(MPI_Pready(c, requests[0]));
    }
    CALLS(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (int c = 0; c < n; ++c)
      for (int r = 0; r < n; ++r) EXPECT(to[c][r] == value(left, round, r * n + c), "%g", to[c][r]);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  MPI_Type_free(&column);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  right = (rank + 1) % size, left = (rank + size - 1) % size;
  ring(1, 1, 4, 3);
  ring(8, 8, 64, 6);
  ring(64, 1, 4096, 4);
  ring(4, 64, 4096, 4);
  ring(32, 16, 4096, 4);
  ranges_and_lists();
  several();
  early_and_late();
  layouts();
  return end();
}
