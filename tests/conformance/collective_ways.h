/* Included twice by collective_ways.c: for counts that are ints, and for large ones.
   COUNT, PLACE: the types of counts and displacements; OF(name): the function of that size; FN(name):
   the name of a function here.

   RUN(Name, IName, arguments...) calls MPI_Name, MPI_IName or MPI_Name_init with `comm` behind the arguments,
   as `way` says; a persistent one is made in the first round and started in each. */
#define RUN(Name, IName, ...)                                            \
  switch (way) {                                                         \
    case blocking: OF(MPI_##Name)(__VA_ARGS__, comm); break;             \
    case started:                                                        \
      OF(MPI_##IName)(__VA_ARGS__, comm, &request);                      \
      MPI_Wait(&request, MPI_STATUS_IGNORE);                             \
      break;                                                             \
    default: RUN_PERSISTENT(Name, __VA_ARGS__)                           \
  }                                                                      \
  where = #Name
#if MPI_VERSION >= 4
#define RUN_PERSISTENT(Name, ...)                                                                   \
  if (round == 0) OF(MPI_##Name##_init)(__VA_ARGS__, comm, MPI_INFO_NULL, &request);                \
  MPI_Start(&request);                                                                              \
  MPI_Wait(&request, MPI_STATUS_IGNORE);
#else
#define RUN_PERSISTENT(Name, ...)
#endif

/* Every round with other values; the request of a persistent one is freed after them. */
#define ROUNDS                                                                                  \
  MPI_Request request = MPI_REQUEST_NULL;                                                       \
  const char* where = "";                                                                       \
  for (int round = 0; round < rounds_of(way);                                                   \
       ++round == rounds_of(way) && way == persistent ? MPI_Request_free(&request) : MPI_SUCCESS)

/* What rank r has at place i, and what is in the buffers before. */
#define VALUE(r, i) (10000 * (r) + 10 * (i) + round)
#define FILL(count) for (int i_ = 0; i_ < (count); ++i_) in[i_] = VALUE(rank_there, i_), out[i_] = -1
#define EXPECT_OUT(first, count, wanted)                                                          \
  for (int i = 0; i < (count); ++i)                                                               \
    EXPECT(out[(first) + i] == (wanted), "%s, way %d, round %d: element %d is %d, not %d", where, \
           way, round, (first) + i, out[(first) + i], (int)(wanted))

static void FN(in_one_group)(int way, MPI_Comm comm) {
  static int in[room], out[room];
  COUNT counts[64];
  PLACE places[64], bytes[64];
  MPI_Datatype types[64];
  int rank_there, n_ranks;
  MPI_Comm_rank(comm, &rank_there);
  MPI_Comm_size(comm, &n_ranks);
  const int root = n_ranks - 1, sum = n_ranks * (n_ranks - 1) / 2, at_root = rank_there == root;
  enum { n = 5, gap = 7 };
  for (int r = 0; r < n_ranks; ++r)
    counts[r] = n, places[r] = gap * r, bytes[r] = 4 * gap * r, types[r] = MPI_INT;

  { ROUNDS {
      FILL(n);
      for (int i = 0; at_root && i < n; ++i) out[i] = VALUE(root, i);
      RUN(Bcast, Ibcast, out, n, MPI_INT, root);
      EXPECT_OUT(0, n, VALUE(root, i));
  } }
  { ROUNDS {
      FILL(n * n_ranks);
      RUN(Gather, Igather, in, n, MPI_INT, out, n, MPI_INT, root);
      EXPECT_OUT(0, n * n_ranks, at_root ? VALUE(i / n, i % n) : -1);
  } }
  { ROUNDS {
      FILL(gap * n_ranks);
      RUN(Gatherv, Igatherv, in, n, MPI_INT, out, counts, places, MPI_INT, root);
      EXPECT_OUT(0, gap * n_ranks, at_root && i % gap < n ? VALUE(i / gap, i % gap) : -1);
  } }
  { ROUNDS {
      FILL(n * n_ranks);
      RUN(Scatter, Iscatter, in, n, MPI_INT, out, n, MPI_INT, root);
      EXPECT_OUT(0, n, VALUE(root, n * rank_there + i));
  } }
  { ROUNDS {
      FILL(gap * n_ranks);
      RUN(Scatterv, Iscatterv, in, counts, places, MPI_INT, out, n, MPI_INT, root);
      EXPECT_OUT(0, n, VALUE(root, gap * rank_there + i));
  } }
  { ROUNDS {
      FILL(n * n_ranks);
      RUN(Allgather, Iallgather, in, n, MPI_INT, out, n, MPI_INT);
      EXPECT_OUT(0, n * n_ranks, VALUE(i / n, i % n));
  } }
  { ROUNDS {
      FILL(gap * n_ranks);
      RUN(Allgatherv, Iallgatherv, in, n, MPI_INT, out, counts, places, MPI_INT);
      EXPECT_OUT(0, gap * n_ranks, i % gap < n ? VALUE(i / gap, i % gap) : -1);
  } }
  { ROUNDS {
      FILL(n * n_ranks);
      RUN(Alltoall, Ialltoall, in, n, MPI_INT, out, n, MPI_INT);
      EXPECT_OUT(0, n * n_ranks, VALUE(i / n, n * rank_there + i % n));
  } }
  { ROUNDS {
      FILL(gap * n_ranks);
      RUN(Alltoallv, Ialltoallv, in, counts, places, MPI_INT, out, counts, places, MPI_INT);
      EXPECT_OUT(0, gap * n_ranks, i % gap < n ? VALUE(i / gap, gap * rank_there + i % gap) : -1);
  } }
  { ROUNDS {
      FILL(gap * n_ranks);
      RUN(Alltoallw, Ialltoallw, in, counts, bytes, types, out, counts, bytes, types);
      EXPECT_OUT(0, gap * n_ranks, i % gap < n ? VALUE(i / gap, gap * rank_there + i % gap) : -1);
  } }
  { ROUNDS {
      FILL(n);
      RUN(Reduce, Ireduce, in, out, n, MPI_INT, MPI_SUM, root);
      EXPECT_OUT(0, n, at_root ? 10000 * sum + n_ranks * VALUE(0, i) : -1);
  } }
  { ROUNDS {
      FILL(n);
      RUN(Allreduce, Iallreduce, in, out, n, MPI_INT, MPI_SUM);
      EXPECT_OUT(0, n, 10000 * sum + n_ranks * VALUE(0, i));
  } }
  { ROUNDS {
      FILL(n * n_ranks);
      RUN(Reduce_scatter, Ireduce_scatter, in, out, counts, MPI_INT, MPI_SUM);
      EXPECT_OUT(0, n, 10000 * sum + n_ranks * VALUE(0, n * rank_there + i));
  } }
  { ROUNDS {
      FILL(n * n_ranks);
      RUN(Reduce_scatter_block, Ireduce_scatter_block, in, out, n, MPI_INT, MPI_SUM);
      EXPECT_OUT(0, n, 10000 * sum + n_ranks * VALUE(0, n * rank_there + i));
  } }
  { ROUNDS {
      FILL(n);
      RUN(Scan, Iscan, in, out, n, MPI_INT, MPI_SUM);
      EXPECT_OUT(0, n, 10000 * (rank_there * (rank_there + 1) / 2) + (rank_there + 1) * VALUE(0, i));
  } }
  { ROUNDS {
      FILL(n);
      RUN(Exscan, Iexscan, in, out, n, MPI_INT, MPI_MAX);
      EXPECT_OUT(0, rank_there == 0 ? 0 : n, VALUE(rank_there - 1, i));
  } }
}

/* `comm` has two groups. Roots are the last ranks of the first; both groups give in the others. */
static void FN(between_two)(int way, MPI_Comm comm, int in_first) {
  static int in[room], out[room];
  COUNT counts[64], counts_here[64];
  PLACE places[64], bytes[64];
  MPI_Datatype types[64];
  int rank_there, here, there;
  MPI_Comm_rank(comm, &rank_there);
  MPI_Comm_size(comm, &here);
  MPI_Comm_remote_size(comm, &there);
  const int sum = there * (there - 1) / 2, is_root = in_first && rank_there == here - 1;
  const int root = !in_first ? there - 1 : is_root ? MPI_ROOT : MPI_PROC_NULL;
  enum { n = 6, gap = 8 };
  for (int r = 0; r < 64; ++r)
    counts[r] = n, places[r] = gap * r, bytes[r] = 4 * gap * r, types[r] = MPI_INT;
  (void)sum;

  { ROUNDS {
      FILL(n);
      for (int i = 0; is_root && i < n; ++i) out[i] = VALUE(5, i);
      RUN(Bcast, Ibcast, out, n, MPI_INT, root);
      EXPECT_OUT(0, n, in_first && !is_root ? -1 : VALUE(5, i));
  } }
  { ROUNDS {
      FILL(n * there);
      RUN(Gather, Igather, in, n, MPI_INT, out, n, MPI_INT, root);
      EXPECT_OUT(0, n * there, is_root ? VALUE(i / n, i % n) : -1);
  } }
  { ROUNDS {
      FILL(gap * there);
      RUN(Gatherv, Igatherv, in, n, MPI_INT, out, counts, places, MPI_INT, root);
      EXPECT_OUT(0, gap * there, is_root && i % gap < n ? VALUE(i / gap, i % gap) : -1);
  } }
  { ROUNDS {
      FILL(n * there);
      RUN(Scatter, Iscatter, in, n, MPI_INT, out, n, MPI_INT, root);
      EXPECT_OUT(0, n, in_first ? -1 : VALUE(there - 1, n * rank_there + i));
  } }
  { ROUNDS {
      FILL(gap * there);
      RUN(Scatterv, Iscatterv, in, counts, places, MPI_INT, out, n, MPI_INT, root);
      EXPECT_OUT(0, n, in_first ? -1 : VALUE(there - 1, gap * rank_there + i));
  } }
  { ROUNDS {
      FILL(n * there);
      RUN(Allgather, Iallgather, in, n, MPI_INT, out, n, MPI_INT);
      EXPECT_OUT(0, n * there, VALUE(i / n, i % n));
  } }
  { ROUNDS {
      FILL(gap * there);
      RUN(Allgatherv, Iallgatherv, in, n, MPI_INT, out, counts, places, MPI_INT);
      EXPECT_OUT(0, gap * there, i % gap < n ? VALUE(i / gap, i % gap) : -1);
  } }
  { ROUNDS {
      FILL(n * there);
      RUN(Alltoall, Ialltoall, in, n, MPI_INT, out, n, MPI_INT);
      EXPECT_OUT(0, n * there, VALUE(i / n, n * rank_there + i % n));
  } }
  { ROUNDS {
      FILL(gap * there);
      RUN(Alltoallv, Ialltoallv, in, counts, places, MPI_INT, out, counts, places, MPI_INT);
      EXPECT_OUT(0, gap * there, i % gap < n ? VALUE(i / gap, gap * rank_there + i % gap) : -1);
  } }
  { ROUNDS {
      FILL(gap * there);
      RUN(Alltoallw, Ialltoallw, in, counts, bytes, types, out, counts, bytes, types);
      EXPECT_OUT(0, gap * there, i % gap < n ? VALUE(i / gap, gap * rank_there + i % gap) : -1);
  } }
  { ROUNDS {
      FILL(n);
      RUN(Reduce, Ireduce, in, out, n, MPI_INT, MPI_SUM, root);
      EXPECT_OUT(0, n, is_root ? 10000 * sum + there * VALUE(0, i) : -1);
  } }
  { ROUNDS {
      FILL(n);
      RUN(Allreduce, Iallreduce, in, out, n, MPI_INT, MPI_SUM);
      EXPECT_OUT(0, n, 10000 * sum + there * VALUE(0, i));
  } }
  /* Each group gives the other's sum: as much in all as its own ranks take. */
  const int per_rank_here = 6 * there, all = 6 * here * there;
  for (int r = 0; r < 64; ++r) counts_here[r] = per_rank_here;
  { ROUNDS {
      FILL(all);
      RUN(Reduce_scatter, Ireduce_scatter, in, out, counts_here, MPI_INT, MPI_SUM);
      EXPECT_OUT(0, per_rank_here, 10000 * sum + there * VALUE(0, per_rank_here * rank_there + i));
  } }
  { ROUNDS {
      FILL(all);
      RUN(Reduce_scatter_block, Ireduce_scatter_block, in, out, per_rank_here, MPI_INT, MPI_SUM);
      EXPECT_OUT(0, per_rank_here, 10000 * sum + there * VALUE(0, per_rank_here * rank_there + i));
  } }
}

/* `comm` is a ring: from the rank before come other lengths than go to the one behind. */
static void FN(between_neighbours)(int way, MPI_Comm comm) {
  static int in[room], out[room];
  int rank_there, n_ranks;
  MPI_Comm_rank(comm, &rank_there);
  MPI_Comm_size(comm, &n_ranks);
  const int before = (rank_there + n_ranks - 1) % n_ranks;
  enum { n = 4 };
  COUNT sent[1] = {1 + rank_there % n}, taken[1] = {1 + before % n};
  PLACE from[1] = {2}, to[1] = {3};
  MPI_Aint from_bytes[1] = {8}, to_bytes[1] = {12};
  MPI_Datatype type[1] = {MPI_INT};

  { ROUNDS {
      FILL(10);
      RUN(Neighbor_allgather, Ineighbor_allgather, in, n, MPI_INT, out, n, MPI_INT);
      EXPECT_OUT(0, n, VALUE(before, i));
  } }
  { ROUNDS {
      FILL(10);
      RUN(Neighbor_allgatherv, Ineighbor_allgatherv, in, sent[0], MPI_INT, out, taken, to, MPI_INT);
      EXPECT_OUT(3, taken[0], VALUE(before, i));
      EXPECT_INT(out[3 + taken[0]], -1);
  } }
  { ROUNDS {
      FILL(10);
      RUN(Neighbor_alltoall, Ineighbor_alltoall, in, n, MPI_INT, out, n, MPI_INT);
      EXPECT_OUT(0, n, VALUE(before, i));
  } }
  { ROUNDS {
      FILL(10);
      RUN(Neighbor_alltoallv, Ineighbor_alltoallv, in, sent, from, MPI_INT, out, taken, to, MPI_INT);
      EXPECT_OUT(3, taken[0], VALUE(before, 2 + i));
      EXPECT_INT(out[2], -1);
  } }
  if (neighbor_alltoallw_works) { ROUNDS {
      FILL(10);
      RUN(Neighbor_alltoallw, Ineighbor_alltoallw, in, sent, from_bytes, type, out, taken, to_bytes, type);
      EXPECT_OUT(3, taken[0], VALUE(before, 2 + i));
      EXPECT_INT(out[2], -1);
  } }
}

#undef RUN
#undef RUN_PERSISTENT
#undef ROUNDS
#undef VALUE
#undef FILL
#undef EXPECT_OUT
#undef COUNT
#undef PLACE
#undef OF
#undef FN
