/* Corners of the chapter on collectives: gaps in datatypes, operations of the program on them, counts of
   zero, long and short data with the same calls, persistent requests, many under way, two groups. */
#include "conform.h"

enum { most = 3000 };

/* Every second int, and a gap of its own before each: extent 16, lower bound -4. */
static MPI_Datatype with_gaps(void) {
  MPI_Datatype pair, gapped;
  MPI_Type_create_hvector(2, 1, 8, MPI_INT, &pair);
  MPI_Type_create_resized(pair, -4, 16, &gapped);
  MPI_Type_commit(&gapped);
  MPI_Type_free(&pair);
  return gapped;
}
/* Element i has its ints at 4 i and 4 i + 2 of the array. */
static void fill(int* a, int count, int seed) {
  for (int i = 0; i < 4 * most; ++i) a[i] = -1;
  for (int i = 0; i < count; ++i) a[4 * i] = seed + 2 * i, a[4 * i + 2] = seed + 2 * i + 1;
}
static void check(const int* a, int count, int seed, int step, const char* what) {
  for (int i = 0; i < count; ++i) {
    EXPECT(a[4 * i] == seed + 2 * i * step && a[4 * i + 2] == seed + (2 * i + 1) * step, "%s, element %d: %d, %d", what, i,
           a[4 * i], a[4 * i + 2]);
    EXPECT(a[4 * i + 1] == -1 && a[4 * i + 3] == -1, "%s, gap of element %d", what, i);
  }
  EXPECT(a[4 * count] == -1, "%s wrote beyond its end", what);
}

static int a[4 * most + 64], b[4 * most + 64];

static void gaps(void) {
  MPI_Datatype gapped = with_gaps();
  for (int pass = 0; pass < 2; ++pass) {
    const int n = pass == 0 ? 3 : 700; /* In a dropbox, or not. */
    const int root = size - 1;
    fill(a, rank == root ? n : 0, 5);
    MPI_Bcast(a, n, gapped, root, MPI_COMM_WORLD);
    check(a, n, 5, 1, "bcast");
    /* A layout at the root only. */
    fill(a, rank == root ? n : 0, 9);
    if (rank == root) MPI_Bcast(a, n, gapped, root, MPI_COMM_WORLD);
    else {
      MPI_Bcast(b, 2 * n, MPI_INT, root, MPI_COMM_WORLD);
      for (int i = 0; i < 2 * n; ++i) EXPECT(b[i] == 9 + i, "%d: %d", i, b[i]);
    }
  }
  for (int n = 0; n <= 40; n += 20) { /* Gather: contiguous parts into gaps, with a gap between parts. */
    int* into = malloc((4 * 41 * (size_t)size + 8) * sizeof(int));
    int counts[64], places[64];
    for (int i = 0; i < 4 * 41 * size + 8; ++i) into[i] = -1;
    for (int i = 0; i < 2 * n; ++i) b[i] = 1000 * rank + i;
    for (int r = 0; r < size; ++r) counts[r] = n, places[r] = 41 * (size - 1 - r);
    MPI_Gatherv(b, 2 * n, MPI_INT, into, counts, places, gapped, 0, MPI_COMM_WORLD);
    if (rank == 0)
      for (int r = 0; r < size; ++r)
        for (int i = 0; i < n; ++i) {
          const int* e = into + 4 * (places[r] + i);
          EXPECT(e[0] == 1000 * r + 2 * i && e[2] == e[0] + 1 && e[1] == -1 && e[3] == -1, "rank %d, element %d", r, i);
        }
    MPI_Allgatherv(b, 2 * n, MPI_INT, into, counts, places, gapped, MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r)
      for (int i = 0; i < n; ++i) EXPECT(into[4 * (places[r] + i) + 2] == 1000 * r + 2 * i + 1, "rank %d, element %d", r, i);
    MPI_Scatterv(into, counts, places, gapped, b, 2 * n, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 2 * n; ++i) EXPECT(b[i] == 1000 * rank + i, "%d: %d", i, b[i]);
    free(into);
  }
  MPI_Type_free(&gapped);
}

/* In rank order: (x, y) op (u, v) = (x u, x v + y), which composes lines. Modulo, so that it stays exact. */
static void compose(void* in, void* inout, int* length, MPI_Datatype* type) {
  const int* x = in;
  int* u = inout;
  MPI_Aint lower, extent;
  MPI_Type_get_extent(*type, &lower, &extent);
  const int step = (int)(extent / (MPI_Aint)sizeof(int)), second = step == 2 ? 1 : 2;
  for (int i = 0; i < *length; ++i, x += step, u += step) {
    const long long first = (long long)x[0] * u[0] % 10007, then = ((long long)x[0] * u[second] + x[second]) % 10007;
    u[0] = (int)first;
    u[second] = (int)then;
  }
}
static void line_of(int r, int i, int* slope, int* offset) { *slope = (3 * r + i) % 50 + 2, *offset = (r + 7 * i) % 100; }
static void lines_up_to(int last, int i, int* slope, int* offset) {
  long long x = 1, y = 0;
  for (int r = 0; r <= last; ++r) {
    int u, v;
    line_of(r, i, &u, &v);
    y = (x * v + y) % 10007, x = x * u % 10007;
  }
  *slope = (int)x, *offset = (int)y;
}

static void check_lines(const int* at, int n, int step, int second, int last, int first_line, const char* what) {
  for (int i = 0; i < n; ++i) {
    int x, y;
    lines_up_to(last, first_line + i, &x, &y);
    EXPECT(at[step * i] == x && at[step * i + second] == y, "%s of %d, line %d: %d, %d", what, n, i, at[step * i], at[step * i + second]);
  }
}

static void lines(MPI_Datatype type, int step, int second, const char* what) {
  MPI_Op op;
  int commutes = -1;
  MPI_Op_create(compose, 0, &op);
  MPI_Op_commutative(op, &commutes);
  EXPECT_INT(commutes, 0);
  for (int n = 0; n <= 400; n = n == 0 ? 1 : n == 1 ? 30 : n == 30 ? 400 : 401) {
    const int root = size / 2;
    for (int i = 0; i < step * n + step; ++i) a[i] = b[i] = -1;
    for (int i = 0; i < n; ++i) line_of(rank, i, &a[step * i], &a[step * i + second]);
    MPI_Allreduce(a, b, n, type, op, MPI_COMM_WORLD);
    check_lines(b, n, step, second, size - 1, 0, what);
    if (step > 2 && n > 0) EXPECT(b[1] == -1 && b[step - 1] == -1, "a gap was written");
    EXPECT_INT(b[step * n], -1);
    if (rank == root) memcpy(b, a, sizeof(int) * (size_t)(step * n + step));
    MPI_Reduce(rank == root ? MPI_IN_PLACE : a, rank == root ? b : NULL, n, type, op, root, MPI_COMM_WORLD);
    if (rank == root) check_lines(b, n, step, second, size - 1, 0, "reduce in place");
    MPI_Scan(a, b, n, type, op, MPI_COMM_WORLD);
    check_lines(b, n, step, second, rank, 0, "scan");
    memcpy(b, a, sizeof(int) * (size_t)(step * n + step));
    MPI_Exscan(MPI_IN_PLACE, b, n, type, op, MPI_COMM_WORLD);
    if (rank > 0) check_lines(b, n, step, second, rank - 1, 0, "exscan in place");
  }
  int counts[64], n = 0, mine = 0;
  for (int r = 0; r < size; ++r) {
    counts[r] = r % 3;
    if (r < rank) mine += counts[r];
    n += counts[r];
  }
  for (int i = 0; i < step * n + step; ++i) a[i] = b[i] = -1;
  for (int i = 0; i < n; ++i) line_of(rank, i, &a[step * i], &a[step * i + second]);
  MPI_Reduce_scatter(a, b, counts, type, op, MPI_COMM_WORLD);
  check_lines(b, counts[rank], step, second, size - 1, mine, "reduce_scatter");
  EXPECT_INT(b[step * counts[rank]], -1);
  MPI_Op_free(&op);
}

static void own_operations(void) {
  MPI_Datatype two, gapped, bounded;
  MPI_Type_contiguous(2, MPI_INT, &two);
  MPI_Type_commit(&two);
  lines(two, 2, 1, "in a row");
  MPI_Type_free(&two);
  MPI_Type_create_hvector(2, 1, 8, MPI_INT, &gapped);
  MPI_Type_create_resized(gapped, 0, 16, &bounded);
  MPI_Type_commit(&bounded);
  lines(bounded, 4, 2, "with gaps");
  MPI_Type_free(&gapped);
  MPI_Type_free(&bounded);
}

static void nothing(void) {
  const int none[64] = {0};
  MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Gather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Scatter(NULL, 0, MPI_INT, NULL, 0, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Allgather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD);
  MPI_Alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD);
  MPI_Alltoallv(a, none, none, MPI_INT, b, none, none, MPI_INT, MPI_COMM_WORLD);
  MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Reduce_scatter(NULL, NULL, none, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Scan(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* To rank r a vector of r + 1 strided ints, received in a row; then back in place. */
static void types_of_each(void) {
  MPI_Datatype out_types[64], in_types[64];
  int counts[64], out_at[64], in_at[64], at = 0;
  for (int r = 0; r < size; ++r) {
    MPI_Type_vector(r + 1, 1, 3, MPI_INT, &out_types[r]);
    MPI_Type_commit(&out_types[r]);
    in_types[r] = MPI_INT;
    counts[r] = 1;
    out_at[r] = at * (int)sizeof(int);
    for (int i = 0; i <= r; ++i) a[at + 3 * i] = 100 * rank + r;
    at += 3 * (r + 1);
  }
  int in_counts[64];
  for (int r = 0; r < size; ++r) in_counts[r] = rank + 1, in_at[r] = r * (rank + 1) * (int)sizeof(int);
  MPI_Alltoallw(a, counts, out_at, out_types, b, in_counts, in_at, in_types, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i <= rank; ++i) EXPECT(b[r * (rank + 1) + i] == 100 * r + rank, "from %d: %d", r, b[r * (rank + 1) + i]);
  for (int r = 0; r < size; ++r) MPI_Type_free(&out_types[r]);
  for (int r = 0; r < size; ++r) in_counts[r] = 2, in_at[r] = 2 * r;
  for (int i = 0; i < 2 * size; ++i) a[i] = 100 * rank + i / 2;
  MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, a, in_counts, in_at, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < 2 * size; ++i) EXPECT(a[i] == 100 * (i / 2) + rank, "%d: %d", i, a[i]);
}

/* Parts of all sizes from those that fit into dropboxes to those that do not. */
static void sizes(void) {
  int* in = malloc((size_t)size * 2048 * sizeof(int));
  int* out = malloc((size_t)size * 2048 * sizeof(int));
  for (int n = 1; n <= 2048; n *= 2) {
    for (int i = 0; i < size * n; ++i) in[i] = rank * 65536 + i, out[i] = -1;
    MPI_Alltoall(in, n, MPI_INT, out, n, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r)
      for (int i = 0; i < n; ++i) EXPECT(out[r * n + i] == r * 65536 + rank * n + i, "alltoall %d, %d from %d: %d", n, i, r, out[r * n + i]);
    MPI_Allgather(in, n, MPI_INT, out, n, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r)
      for (int i = 0; i < n; ++i) EXPECT(out[r * n + i] == r * 65536 + i, "allgather %d, %d from %d: %d", n, i, r, out[r * n + i]);
    for (int i = 0; i < n; ++i) out[rank * n + i] = rank * 65536 - i;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, n, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r)
      for (int i = 0; i < n; ++i) EXPECT(out[r * n + i] == r * 65536 - i, "allgather in place %d, %d from %d: %d", n, i, r, out[r * n + i]);
  }
  free(in);
  free(out);
}

/* One collective called with counts of both sizes, in place or not, and with two names of one datatype, one of which needs
   a look into an object. */
static void unlike_calls(void) {
  MPI_Datatype same = MPI_INTEGER4;
#ifdef MPI_ABI_VERSION
  MPI_Type_create_f90_integer(9, &same);
#endif
#ifdef MPICH_NAME /* 4.0.2 faults where much is reduced in place to a root that is not 0. */
  const int in_place_max = 2;
#else
  const int in_place_max = most;
#endif
  for (int round = 0; round < 24; ++round) {
    const int root = round % size, sum = size * (size - 1) / 2 + size * round, n = round % 4 < 2 ? 2 : 700;
    const MPI_Datatype type = (rank + round) % 3 == 0 ? same : MPI_INTEGER4;
    for (int i = 0; i < n; ++i) a[i] = rank + round + i, b[i] = -1;
#if MPI_VERSION >= 4
    if ((rank + round) % 2 == 1)
      MPI_Allreduce_c(a, b, n, type, MPI_SUM, MPI_COMM_WORLD);
    else
#endif
      MPI_Allreduce(a, b, n, type, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(b[0] == sum && b[n - 1] == sum + size * (n - 1), "all-reduce: %d, %d", b[0], b[n - 1]);
    const void* given = a;
    if (rank == root && round % 3 != 0 && n <= in_place_max) {
      given = MPI_IN_PLACE;
      for (int i = 0; i < n; ++i) b[i] = a[i];
    }
    MPI_Reduce(given, rank == root ? b : NULL, n, type, MPI_SUM, root, MPI_COMM_WORLD);
    if (rank == root) EXPECT(b[0] == sum && b[n - 1] == sum + size * (n - 1), "reduce: %d, %d", b[0], b[n - 1]);
  }
}

static void many_under_way(void) {
  enum { many = 40 };
  MPI_Request requests[3 * many];
  static int values[many], sums[many], all[many][64];
  int k = 0;
  for (int i = 0; i < many; ++i) {
    values[i] = rank + i;
    MPI_Iallreduce(&values[i], &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[k++]);
    MPI_Iallgather(&values[i], 1, MPI_INT, all[i], 1, MPI_INT, MPI_COMM_WORLD, &requests[k++]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[k++]);
  }
  int blocking = -1;
  MPI_Allreduce(&rank, &blocking, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  EXPECT_INT(blocking, size - 1);
  MPI_Waitall(k, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < many; ++i) {
    EXPECT_INT(sums[i], size * (size - 1) / 2 + i * size);
    for (int r = 0; r < size; ++r) EXPECT(all[i][r] == r + i, "%d", all[i][r]);
  }
}

/* What a started collective was made of may be freed. */
static void freed_parts(void) {
  MPI_Comm copy;
  MPI_Datatype two;
  MPI_Op op;
  MPI_Request request;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Type_vector(2, 1, 2, MPI_INT, &two);
  MPI_Type_commit(&two);
  MPI_Op_create(compose, 0, &op);
  for (int i = 0; i < 9; ++i) a[i] = rank == 0 ? i : -1;
  MPI_Ibcast(a, 1, two, 0, copy, &request);
  MPI_Type_free(&two);
#ifndef OPEN_MPI /* It faults, 4.1. */
  MPI_Comm_free(&copy);
#endif
  MPI_Op_free(&op);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
#ifdef OPEN_MPI
  MPI_Comm_free(&copy);
#endif
  EXPECT(a[0] == 0 && a[2] == 2 && a[1] == (rank == 0 ? 1 : -1), "%d, %d, %d", a[0], a[1], a[2]);
}

#if MPI_VERSION >= 4
static void persistent(void) {
  MPI_Request requests[4];
  int value = 0, sum = 0, all[64], from_root = 0;
  MPI_Allreduce_init(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Allgather_init(&value, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  MPI_Bcast_init(&from_root, 1, MPI_INT, size - 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
  MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[3]);
  for (int round = 0; round < 5; ++round) {
    value = rank + round;
    from_root = rank == size - 1 ? 50 + round : -1;
    MPI_Startall(4, requests);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    EXPECT_INT(sum, size * (size - 1) / 2 + round * size);
    EXPECT_INT(from_root, 50 + round);
#ifndef MPICH_NAME /* It gives the values of the first round again, 4.0. */
    for (int r = 0; r < size; ++r) EXPECT(all[r] == r + round, "%d: %d", r, all[r]);
#endif
  }
  for (int i = 0; i < 4; ++i) MPI_Request_free(&requests[i]);
}
#endif

/* Two groups, with counts of each rank's own, and long data. */
static void two_groups(void) {
  if (size < 2) return;
  MPI_Comm local, other;
  const int low = rank < (size + 1) / 2;
  MPI_Comm_split(MPI_COMM_WORLD, low, 0, &local);
  MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, low ? (size + 1) / 2 : 0, 5, &other);
  int mine, locals, theirs;
  MPI_Comm_rank(other, &mine);
  MPI_Comm_size(other, &locals);
  MPI_Comm_remote_size(other, &theirs);
  int counts[64], places[64], first = low ? (size + 1) / 2 : 0;
  /* Rank r of either group gives r + 1 ints. */
  int at = 0;
  for (int r = 0; r < theirs; ++r) counts[r] = r + 1, places[r] = at, at += r + 2;
  for (int i = 0; i <= mine; ++i) a[i] = 100 * rank + i;
  MPI_Allgatherv(a, mine + 1, MPI_INT, b, counts, places, MPI_INT, other);
  for (int r = 0; r < theirs; ++r)
    for (int i = 0; i <= r; ++i) EXPECT(b[places[r] + i] == 100 * (first + r) + i, "from %d: %d", r, b[places[r] + i]);
  MPI_Op op;
  MPI_Datatype two;
  MPI_Op_create(compose, 0, &op);
  MPI_Type_contiguous(2, MPI_INT, &two);
  MPI_Type_commit(&two);
  const int n = 600;
  for (int i = 0; i < n; ++i) line_of(mine, i, &a[2 * i], &a[2 * i + 1]);
  MPI_Allreduce(a, b, n, two, op, other);
  check_lines(b, n, 2, 1, theirs - 1, 0, "allreduce between two groups");
  MPI_Reduce(a, b, n, two, op, low ? 0 : mine == 0 ? MPI_ROOT : MPI_PROC_NULL, other);
  if (!low && mine == 0) check_lines(b, n, 2, 1, theirs - 1, 0, "reduce between two groups");
  MPI_Request request;
  MPI_Ibarrier(other, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Reduce_scatter_block(a, b, theirs, MPI_INT, MPI_SUM, other);
  MPI_Comm parts;
  MPI_Comm_split(other, mine % 2, -rank, &parts); /* The order within each group is turned round. */
  if (parts != MPI_COMM_NULL) {
    int r, s;
    MPI_Comm_rank(parts, &r);
    MPI_Comm_size(parts, &s);
    EXPECT(r == s - 1 - mine / 2, "rank %d of %d, was %d", r, s, mine);
    MPI_Comm_free(&parts);
  }
  MPI_Op_free(&op);
  MPI_Type_free(&two);
  MPI_Comm_free(&local);
  MPI_Comm_free(&other);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  gaps();
  own_operations();
  nothing();
  types_of_each();
  sizes();
  unlike_calls();
  many_under_way();
  freed_parts();
#if MPI_VERSION >= 4
  persistent();
#endif
  two_groups();
  return end();
}
