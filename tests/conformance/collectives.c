/* Every blocking collective: all roots, zero counts, in place, derived types, sizes short and long. */
#include "conform.h"

enum { most = 20000 };
static int in[64 * 512], out[64 * 512];
static int* long_in;
static int* long_out;

static const int lengths[] = {0, 1, 3, 100, 1000, most};

static void broadcast(void) {
  for (int root = 0; root < size; ++root)
    for (int k = 0; k < LENGTH(lengths); ++k) {
      const int n = lengths[k];
      for (int i = 0; i < n; ++i) long_in[i] = rank == root ? root + i : -1;
      MPI_Bcast(long_in, n, MPI_INT, root, MPI_COMM_WORLD);
      for (int i = 0; i < n; i += 7) EXPECT(long_in[i] == root + i, "root %d, %d of %d: %d", root, i, n, long_in[i]);
    }
  /* Sent as a vector, received in a row. */
  MPI_Datatype column;
  MPI_Type_vector(5, 1, 3, MPI_INT, &column);
  MPI_Type_commit(&column);
  for (int i = 0; i < 15; ++i) in[i] = rank == 0 ? i : -1;
  if (rank == 0)
    MPI_Bcast(in, 1, column, 0, MPI_COMM_WORLD);
  else
    MPI_Bcast(in, 5, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank != 0) EXPECT(in[0] == 0 && in[4] == 12 && in[5] == -1, "%d %d %d", in[0], in[4], in[5]);
  MPI_Type_free(&column);
}

/* MPICH 4.0.2 follows MPI_IN_PLACE as an address where the root is not rank 0. */
#ifdef MPICH_VERSION
#define IN_PLACE_ROOT(root) 0
#else
#define IN_PLACE_ROOT(root) (root)
#endif

static void reductions(void) {
  for (int k = 0; k < LENGTH(lengths); ++k) {
    const int n = lengths[k];
    for (int i = 0; i < n; ++i) long_in[i] = rank + i, long_out[i] = -1;
    const int root = k % size;
    MPI_Reduce(long_in, long_out, n, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    for (int i = 0; i < n; i += 11)
      EXPECT(long_out[i] == (rank == root ? size * (size - 1) / 2 + size * i : -1), "%d of %d: %d", i, n, long_out[i]);
    const int keeper = IN_PLACE_ROOT(root);
    if (rank == keeper)
      MPI_Reduce(MPI_IN_PLACE, long_in, n, MPI_INT, MPI_SUM, keeper, MPI_COMM_WORLD);
    else
      MPI_Reduce(long_in, NULL, n, MPI_INT, MPI_SUM, keeper, MPI_COMM_WORLD);
    for (int i = 0; i < n; i += 11)
      EXPECT(long_in[i] == (rank == keeper ? size * (size - 1) / 2 + size * i : rank + i), "%d of %d: %d", i, n, long_in[i]);
    for (int i = 0; i < n; ++i) long_in[i] = rank * i;
    MPI_Allreduce(long_in, long_out, n, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < n; i += 11) EXPECT(long_out[i] == (size - 1) * i, "%d of %d: %d", i, n, long_out[i]);
    MPI_Allreduce(MPI_IN_PLACE, long_in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < n; i += 11) EXPECT(long_in[i] == size * (size - 1) / 2 * i, "%d of %d: %d", i, n, long_in[i]);
  }
}

static void scans(void) {
  for (int k = 0; k < LENGTH(lengths); ++k) {
    const int n = lengths[k];
    for (int i = 0; i < n; ++i) long_in[i] = rank + i, long_out[i] = -1;
    MPI_Scan(long_in, long_out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < n; i += 13)
      EXPECT(long_out[i] == rank * (rank + 1) / 2 + (rank + 1) * i, "%d of %d: %d", i, n, long_out[i]);
    for (int i = 0; i < n; ++i) long_out[i] = -1;
    MPI_Exscan(long_in, long_out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < n; i += 13)
      if (rank > 0) EXPECT(long_out[i] == rank * (rank - 1) / 2 + rank * i, "%d of %d: %d", i, n, long_out[i]);
    MPI_Scan(MPI_IN_PLACE, long_in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < n; i += 13)
      EXPECT(long_in[i] == rank * (rank + 1) / 2 + (rank + 1) * i, "%d of %d: %d", i, n, long_in[i]);
    for (int i = 0; i < n; ++i) long_in[i] = 1;
    MPI_Exscan(MPI_IN_PLACE, long_in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank > 0 && n > 0) EXPECT_INT(long_in[n - 1], rank);
  }
}

static void gathering(void) {
  for (int n = 0; n <= 400; n = n * 3 + 1)
    for (int root = 0; root < size; root += size / 3 + 1) {
      for (int i = 0; i < n; ++i) in[i] = 1000 * rank + i;
      memset(out, 0xff, sizeof out);
      MPI_Gather(in, n, MPI_INT, rank == root ? out : NULL, n, MPI_INT, root, MPI_COMM_WORLD);
      for (int r = 0; r < size && rank == root; ++r)
        for (int i = 0; i < n; ++i) EXPECT(out[r * n + i] == 1000 * r + i, "%d, %d: %d", r, i, out[r * n + i]);
      memset(out, 0xff, sizeof out);
      if (rank == root) {
        memcpy(out + root * n, in, (size_t)n * sizeof(int));
        MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, n, MPI_INT, root, MPI_COMM_WORLD);
        for (int r = 0; r < size; ++r)
          for (int i = 0; i < n; ++i) EXPECT(out[r * n + i] == 1000 * r + i, "%d, %d: %d", r, i, out[r * n + i]);
      } else {
        MPI_Gather(in, n, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
      }
      memset(out, 0xff, sizeof out);
      MPI_Allgather(in, n, MPI_INT, out, n, MPI_INT, MPI_COMM_WORLD);
      for (int r = 0; r < size; ++r)
        for (int i = 0; i < n; ++i) EXPECT(out[r * n + i] == 1000 * r + i, "%d, %d: %d", r, i, out[r * n + i]);
      memset(out, 0xff, sizeof out);
      memcpy(out + rank * n, in, (size_t)n * sizeof(int));
      MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, n, MPI_INT, MPI_COMM_WORLD);
      for (int r = 0; r < size && n; ++r) EXPECT_INT(out[r * n + n - 1], 1000 * r + n - 1);
      /* And back. */
      memset(in, 0xff, sizeof in);
      MPI_Scatter(out, n, MPI_INT, in, n, MPI_INT, root, MPI_COMM_WORLD);
      for (int i = 0; i < n; ++i) EXPECT(in[i] == 1000 * rank + i, "%d: %d", i, in[i]);
      memset(in, 0xff, sizeof in);
      if (rank == root)
        MPI_Scatter(out, n, MPI_INT, MPI_IN_PLACE, n, MPI_INT, root, MPI_COMM_WORLD);
      else
        MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, in, n, MPI_INT, root, MPI_COMM_WORLD);
      if (rank != root && n) EXPECT_INT(in[n - 1], 1000 * rank + n - 1);
    }
}

/* Rank r has r elements (rank 0 none), placed from the end, with a gap of one. */
static void uneven(void) {
  int counts[64], places[64], total = 0;
  for (int r = 0; r < size; ++r) counts[r] = r, total += r + 1;
  for (int r = 0, at = total; r < size; ++r) at -= counts[r] + 1, places[r] = at;
  for (int i = 0; i < rank; ++i) in[i] = 100 * rank + i;
  for (int root = 0; root < size; ++root) {
    memset(out, 0xff, sizeof out);
    MPI_Gatherv(in, rank, MPI_INT, out, counts, places, MPI_INT, root, MPI_COMM_WORLD);
    for (int r = 0; r < size && rank == root; ++r) {
      for (int i = 0; i < r; ++i) EXPECT(out[places[r] + i] == 100 * r + i, "%d, %d: %d", r, i, out[places[r] + i]);
      EXPECT_INT(out[places[r] + r], -1);
    }
    int back[64];
    memset(back, 0xff, sizeof back);
    MPI_Scatterv(out, counts, places, MPI_INT, back, rank, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < rank; ++i) EXPECT(back[i] == 100 * rank + i, "%d: %d", i, back[i]);
  }
  memset(out, 0xff, sizeof out);
  MPI_Allgatherv(in, rank, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < r; ++i) EXPECT(out[places[r] + i] == 100 * r + i, "%d, %d: %d", r, i, out[places[r] + i]);
  memset(out, 0xff, sizeof out);
  for (int i = 0; i < rank; ++i) out[places[rank] + i] = 7 * rank + i;
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, counts, places, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < r; ++i) EXPECT(out[places[r] + i] == 7 * r + i, "%d, %d: %d", r, i, out[places[r] + i]);
}

static void all_to_all(void) {
  for (int n = 0; n <= 400; n = n * 3 + 1) {
    for (int r = 0; r < size; ++r)
      for (int i = 0; i < n; ++i) in[r * n + i] = 10000 * rank + 500 * r + i;
    memset(out, 0xff, sizeof out);
    MPI_Alltoall(in, n, MPI_INT, out, n, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r)
      for (int i = 0; i < n; ++i) EXPECT(out[r * n + i] == 10000 * r + 500 * rank + i, "%d, %d: %d", r, i, out[r * n + i]);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, n, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r)
      for (int i = 0; i < n; ++i) EXPECT(in[r * n + i] == 10000 * r + 500 * rank + i, "in place %d, %d: %d", r, i, in[r * n + i]);
  }
}

/* Rank a sends (a + b) % 4 elements to rank b. */
static void all_to_all_uneven(void) {
  int out_counts[64], out_places[64], in_counts[64], in_places[64], out_bytes[64], in_bytes[64];
  MPI_Datatype types[64], other_types[64];
  int sent = 0, received = 0;
  for (int r = 0; r < size; ++r) {
    out_counts[r] = in_counts[r] = (rank + r) % 4;
    out_places[r] = sent;
    in_places[r] = received;
    out_bytes[r] = 4 * sent;
    in_bytes[r] = 4 * received;
    types[r] = rank % 2 ? MPI_INT : MPI_INT32_T;
    other_types[r] = r % 2 ? MPI_INT : MPI_INT32_T;
    for (int i = 0; i < out_counts[r]; ++i) in[sent++] = 1000 * rank + 10 * r + i;
    received += in_counts[r] + 1;
  }
  memset(out, 0xff, sizeof out);
  MPI_Alltoallv(in, out_counts, out_places, MPI_INT, out, in_counts, in_places, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r) {
    for (int i = 0; i < in_counts[r]; ++i)
      EXPECT(out[in_places[r] + i] == 1000 * r + 10 * rank + i, "%d, %d: %d", r, i, out[in_places[r] + i]);
    EXPECT_INT(out[in_places[r] + in_counts[r]], -1);
  }
  memset(out, 0xff, sizeof out);
  MPI_Alltoallw(in, out_counts, out_bytes, types, out, in_counts, in_bytes, other_types, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < in_counts[r]; ++i)
      EXPECT(out[in_places[r] + i] == 1000 * r + 10 * rank + i, "w %d, %d: %d", r, i, out[in_places[r] + i]);
  /* In place, the sizes are the same both ways. */
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < in_counts[r]; ++i) out[in_places[r] + i] = 1000 * rank + 10 * r + i;
  MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, out, in_counts, in_places, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < in_counts[r]; ++i)
      EXPECT(out[in_places[r] + i] == 1000 * r + 10 * rank + i, "in place %d, %d: %d", r, i, out[in_places[r] + i]);
}

static void reduce_scatter(void) {
  int counts[64], total = 0, mine = 0;
  for (int r = 0; r < size; ++r) {
    counts[r] = r % 3;
    if (r == rank) mine = total;
    total += counts[r];
  }
  for (int i = 0; i < total; ++i) in[i] = rank + i;
  memset(out, 0xff, sizeof out);
  MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < counts[rank]; ++i)
    EXPECT(out[i] == size * (size - 1) / 2 + size * (mine + i), "%d: %d", i, out[i]);
  EXPECT_INT(out[counts[rank]], -1);
  MPI_Reduce_scatter(MPI_IN_PLACE, in, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < counts[rank]; ++i)
    EXPECT(in[i] == size * (size - 1) / 2 + size * (mine + i), "in place %d: %d", i, in[i]);
  for (int n = 0; n <= 300; n = n * 4 + 1) {
    for (int i = 0; i < n * size; ++i) in[i] = rank + i;
    memset(out, 0xff, sizeof out);
    MPI_Reduce_scatter_block(in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < n; ++i) EXPECT(out[i] == size * (size - 1) / 2 + size * (rank * n + i), "%d of %d: %d", i, n, out[i]);
    MPI_Reduce_scatter_block(MPI_IN_PLACE, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < n; ++i) EXPECT(in[i] == size * (size - 1) / 2 + size * (rank * n + i), "in place %d of %d: %d", i, n, in[i]);
  }
}

/* A matrix whose columns go to one rank each: the type on one side only. */
static void columns(void) {
  MPI_Datatype vector, column;
  MPI_Type_vector(4, 1, size, MPI_INT, &vector);
  MPI_Type_create_resized(vector, 0, sizeof(int), &column);
  MPI_Type_commit(&column);
  for (int i = 0; i < 4 * size; ++i) in[i] = i;
  memset(out, 0xff, sizeof out);
  MPI_Scatter(in, 1, column, out, 4, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; i < 4; ++i) EXPECT(out[i] == i * size + rank, "%d: %d", i, out[i]);
  memset(in, 0xff, sizeof in);
  MPI_Allgather(out, 4, MPI_INT, in, 1, column, MPI_COMM_WORLD);
  for (int i = 0; i < 4 * size; ++i) EXPECT(in[i] == i, "%d: %d", i, in[i]);
  for (int i = 0; i < size; ++i) in[i] = 100 * rank + i;
  MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) EXPECT(out[i] == 100 * i + rank, "%d: %d", i, out[i]);
  MPI_Type_free(&vector);
  MPI_Type_free(&column);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  long_in = malloc(most * sizeof(int));
  long_out = malloc(most * sizeof(int));
  MPI_Barrier(MPI_COMM_WORLD);
  broadcast();
  reductions();
  scans();
  gathering();
  uneven();
  all_to_all();
  all_to_all_uneven();
  reduce_scatter();
  columns();
  free(long_in);
  free(long_out);
  return end();
}
