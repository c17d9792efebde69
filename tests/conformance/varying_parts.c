/* Collectives whose parts differ in length from rank to rank and from call to call, from none to some KiB: what is given is written over
   as soon as the call returns, and nobody finds that. SEED is the first argument. */
#include "conform.h"

enum { rounds = 120, longest = 1500, ranks_max = 16 };

static unsigned long state;
static int pick(int n) {
  state = state * 6364136223846793005ul + 1442695040888963407ul;
  return (int)((state >> 33) % (unsigned long)n);
}

static int *out, *in, *given, *taken, *out_at, *in_at, *out_bytes, *in_bytes;
static MPI_Datatype *ints, every_second;

/* The same on all ranks. Most parts of a round are of one order of size, so that all go one way, or some of them another. */
static int lengths[ranks_max][ranks_max];
static void pick_lengths(void) {
  const int order = pick(4);
  for (int from = 0; from < size; ++from)
    for (int to = 0; to < size; ++to) {
      const int most = pick(10) == 0 ? longest : order == 0 ? 4 : order == 1 ? 60 : order == 2 ? longest / size : longest;
      lengths[from][to] = pick(6) == 0 ? 0 : pick(most + 1);
    }
}
static int value(int round, int from, int to, int i) { return round * 1000003 + from * 10007 + to * 131 + i; }

static void prepare(int round, int stride) {
  for (int r = 0, o = 0, k = 0; r < size; ++r) {
    given[r] = lengths[rank][r], taken[r] = lengths[r][rank];
    out_at[r] = o, in_at[r] = k;
    out_bytes[r] = o * (int)sizeof *out, in_bytes[r] = k * (int)sizeof *in;
    for (int i = 0; i < stride * given[r]; ++i) out[o + i] = i % stride == 0 ? value(round, rank, r, i / stride) : -7;
    for (int i = 0; i < taken[r] + 1; ++i) in[k + i] = -1;
    o += stride * given[r], k += taken[r] + 1;
  }
}
static void spoil(void) {
  for (int i = 0; i < 2 * longest * size; ++i) out[i] = -9;
}
static void check(const char* what, int round) {
  for (int r = 0; r < size; ++r) {
    for (int i = 0; i < taken[r]; ++i)
      EXPECT(in[in_at[r] + i] == value(round, r, rank, i), "%s, round %d: element %d of %d of rank %d is %d", what, round, i, taken[r], r,
             in[in_at[r] + i]);
    EXPECT(in[in_at[r] + taken[r]] == -1, "%s, round %d: written behind the part of rank %d", what, round, r);
  }
}

static void all_to_all(int round) {
  const int stride = 1 + pick(2);
  prepare(round, stride);
  if (stride == 2) {
    for (int r = 0; r < size; ++r) out_at[r] /= 2;
    MPI_Alltoallv(out, given, out_at, every_second, in, taken, in_at, MPI_INT, MPI_COMM_WORLD);
  } else if (pick(2)) {
    MPI_Alltoallv(out, given, out_at, MPI_INT, in, taken, in_at, MPI_INT, MPI_COMM_WORLD);
  } else {
    MPI_Alltoallw(out, given, out_bytes, ints, in, taken, in_bytes, ints, MPI_COMM_WORLD);
  }
  spoil();
  check("all-to-all", round);
}

/* Of a pair of ranks both parts have one length. */
static void in_place(int round) {
  for (int r = 0; r < size; ++r)
    for (int to = 0; to < r; ++to) lengths[r][to] = lengths[to][r];
  prepare(round, 1);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < taken[r]; ++i) in[in_at[r] + i] = value(round, rank, r, i);
  MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, in, taken, in_at, MPI_INT, MPI_COMM_WORLD);
  check("all-to-all in place", round);
}

static void all_gather(int round) {
  for (int from = 0; from < size; ++from)
    for (int to = 1; to < size; ++to) lengths[from][to] = lengths[from][0];
  prepare(round, 1);
  const int own = lengths[rank][0], is_in_place = pick(2);
  for (int i = 0; i < own; ++i) out[i] = value(round, rank, 0, i);
  if (is_in_place) memcpy(in + in_at[rank], out, (size_t)own * sizeof *in);
  MPI_Allgatherv(is_in_place ? MPI_IN_PLACE : out, own, MPI_INT, in, taken, in_at, MPI_INT, MPI_COMM_WORLD);
  spoil();
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < taken[r]; ++i) EXPECT(in[in_at[r] + i] == value(round, r, 0, i), "all-gather, round %d: element %d of rank %d", round, i, r);
}

/* Parts of one length. */
static void equal_parts(int round) {
  const int n = lengths[0][0];
  for (int i = 0; i < n * size; ++i) out[i] = value(round, rank, 0, i);
  MPI_Alltoall(out, n, MPI_INT, in, n, MPI_INT, MPI_COMM_WORLD);
  spoil();
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < n; ++i) EXPECT(in[r * n + i] == value(round, r, 0, rank * n + i), "round %d: element %d of rank %d", round, i, r);
  for (int i = 0; i < n; ++i) out[i] = value(round, rank, 1, i);
  MPI_Allgather(out, n, MPI_INT, in, n, MPI_INT, MPI_COMM_WORLD);
  spoil();
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < n; ++i) EXPECT(in[r * n + i] == value(round, r, 1, i), "round %d: element %d of rank %d, gathered", round, i, r);
}

/* Of the sums over the other group the first rank gets all, and the others have no memory for what they do not get. */
static void between_groups(void) {
  if (size < 4) return;
  const int half = size / 2, is_low = rank < half;
  MPI_Comm mine, both;
  MPI_Comm_split(MPI_COMM_WORLD, is_low, rank, &mine);
  MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, is_low ? half : 0, 5, &both);
  int own;
  MPI_Comm_rank(mine, &own);
  for (int r = 0; r < size; ++r) taken[r] = 0;
  taken[0] = 6;
  for (int i = 0; i < 6; ++i) out[i] = rank + i;
  const int others = is_low ? size - half : half, others_first = is_low ? half : 0;
  const int code = MPI_Reduce_scatter(out, own == 0 ? in : NULL, taken, MPI_INT, MPI_SUM, both);
  EXPECT(code == MPI_SUCCESS, "sums over the other group");
  for (int i = 0; own == 0 && i < 6; ++i)
    EXPECT(in[i] == others * (others_first + i) + others * (others - 1) / 2, "element %d of the other group's sums is %d", i, in[i]);
  MPI_Comm_free(&both);
  MPI_Comm_free(&mine);
}

/* Rank 0 gives the last rank, or that to itself, more than it takes: it says so, and no rank waits for ever. */
#ifdef MPI_ABI_VERSION
static void disagreement(int giver) {
  const int taker = size - 1;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int r = 0; r < size; ++r) given[r] = taken[r] = 30, out_at[r] = in_at[r] = 50 * r;
  if (rank == giver) given[taker] = 31;
  const int code = MPI_Alltoallv(out, given, out_at, MPI_INT, in, taken, in_at, MPI_INT, comm);
  if (rank == taker) EXPECT_CLASS(code, MPI_ERR_TRUNCATE);
  EXPECT(MPI_Barrier(comm) != MPI_SUCCESS, "a barrier after it");
  MPI_Comm_free(&comm);
}
#else
static void disagreement(int giver) { (void)giver; }
#endif

int main(int argc, char** argv) {
  begin(&argc, &argv);
  state = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
  if (size > ranks_max) MPI_Abort(MPI_COMM_WORLD, 2);
  const size_t room = (size_t)(2 * (longest + 1) * size);
  out = calloc(room, sizeof *out), in = calloc(room, sizeof *in);
  int** const lists[] = {&given, &taken, &out_at, &in_at, &out_bytes, &in_bytes};
  for (int i = 0; i < LENGTH(lists); ++i) *lists[i] = calloc((size_t)size, sizeof(int));
  ints = calloc((size_t)size, sizeof *ints);
  for (int r = 0; r < size; ++r) ints[r] = MPI_INT;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &every_second);
  MPI_Type_commit(&every_second);
  for (int round = 0; round < rounds; ++round) {
    pick_lengths();
    switch (pick(4)) {
      case 0: in_place(round); break;
      case 1: all_gather(round); break;
      case 2: equal_parts(round); break;
      default: all_to_all(round);
    }
  }
  between_groups();
  disagreement(0);
  disagreement(size - 1);
  MPI_Type_free(&every_second);
  return end();
}
