/* Neighbourhood collectives: lengths and datatypes of each edge's own, edges of a grid, several under way,
   a graph in which every rank has other numbers of sources and destinations. */
#include "conform.h"

/* A line without ends: what is beyond an end is left alone. */
static void line(void) {
  MPI_Comm grid;
  const int dims[] = {size}, periods[] = {0};
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &grid);
  int out[2] = {10 * rank, 10 * rank + 1}, in[2] = {-7, -7};
  MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, grid);
  EXPECT_INT(in[0], rank == 0 ? -7 : 10 * (rank - 1) + 1);
  EXPECT_INT(in[1], rank == size - 1 ? -7 : 10 * (rank + 1));
  MPI_Request requests[8];
  int ins[8][2];
  memset(ins, 0xff, sizeof ins);
  for (int i = 0; i < 8; ++i)
    MPI_Ineighbor_allgather(&out[i % 2], 1, MPI_INT, ins[i], 1, MPI_INT, grid, &requests[i]);
  MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 8; ++i) {
    EXPECT_INT(ins[i][0], rank == 0 ? -1 : 10 * (rank - 1) + i % 2);
    EXPECT_INT(ins[i][1], rank == size - 1 ? -1 : 10 * (rank + 1) + i % 2);
  }
  MPI_Comm_free(&grid);
}

/* Rank r sends to all above it, to each as many as its number says. */
static void triangle(void) {
  int sources[64], destinations[64], in = 0, out = 0;
  for (int r = 0; r < rank; ++r) sources[in++] = r;
  for (int r = rank + 1; r < size; ++r) destinations[out++] = r;
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, sources, MPI_UNWEIGHTED, out, destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &graph);
  int values[64], got[64 * 64], in_counts[64], in_at[64], out_counts[64], out_at[64];
  for (int i = 0; i < 64; ++i) values[i] = 100 * rank + i;
  memset(got, 0xff, sizeof got);
  for (int i = 0; i < out; ++i) out_counts[i] = destinations[i], out_at[i] = 0;
  for (int i = 0; i < in; ++i) in_counts[i] = rank, in_at[i] = i * 64;
  MPI_Neighbor_alltoallv(values, out_counts, out_at, MPI_INT, got, in_counts, in_at, MPI_INT, graph);
  for (int i = 0; i < in; ++i) {
    for (int k = 0; k < rank; ++k) EXPECT(got[64 * i + k] == 100 * sources[i] + k, "%d from %d: %d", k, i, got[64 * i + k]);
    EXPECT_INT(got[64 * i + rank], -1);
  }
  for (int i = 0; i < in; ++i) in_counts[i] = sources[i] + 1;
  memset(got, 0xff, sizeof got);
  MPI_Neighbor_allgatherv(values, rank + 1, MPI_INT, got, in_counts, in_at, MPI_INT, graph);
  for (int i = 0; i < in; ++i)
    for (int k = 0; k <= sources[i]; ++k) EXPECT(got[64 * i + k] == 100 * sources[i] + k, "%d from %d: %d", k, i, got[64 * i + k]);

  /* Every second int goes, and comes in a row. */
  MPI_Datatype strided, types_out[64], types_in[64];
  MPI_Aint places_out[64], places_in[64];
  MPI_Type_vector(4, 1, 2, MPI_INT, &strided);
  MPI_Type_commit(&strided);
  for (int i = 0; i < out; ++i) types_out[i] = strided, places_out[i] = (MPI_Aint)sizeof(int) * (i % 2), out_counts[i] = 1;
  for (int i = 0; i < in; ++i) types_in[i] = MPI_INT, places_in[i] = (MPI_Aint)sizeof(int) * 64 * i, in_counts[i] = 4;
  memset(got, 0xff, sizeof got);
  MPI_Request request;
  MPI_Ineighbor_alltoallw(values, out_counts, places_out, types_out, got, in_counts, places_in, types_in, graph, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
#ifndef MPICH_NAME /* There nothing comes, 4.0. */
  for (int i = 0; i < in; ++i)
    for (int k = 0; k < 4; ++k) {
      const int wanted = 100 * sources[i] + 2 * k + (rank - sources[i] - 1) % 2;
      EXPECT(got[64 * i + k] == wanted, "%d from %d: %d", k, i, got[64 * i + k]);
    }
#endif
  MPI_Type_free(&strided);
  MPI_Comm copy; /* A copy has the topology, too. */
  int kind = 0, degree_in = -1, degree_out = -1, weighted = -1;
  MPI_Comm_dup(graph, &copy);
  MPI_Topo_test(copy, &kind);
  EXPECT_INT(kind, MPI_DIST_GRAPH);
  MPI_Dist_graph_neighbors_count(copy, &degree_in, &degree_out, &weighted);
  EXPECT(degree_in == in && degree_out == out && weighted == 0, "%d, %d, %d", degree_in, degree_out, weighted);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&graph);
}

/* Long data, both ways at once. */
static void ring(void) {
  enum { many = 50000 };
  MPI_Comm ring;
  const int before = (rank + size - 1) % size, after = (rank + 1) % size;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &after, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
  int *out = malloc(many * sizeof(int)), *in = malloc(many * sizeof(int));
  for (int i = 0; i < many; ++i) out[i] = rank + i, in[i] = -1;
  MPI_Neighbor_alltoall(out, many, MPI_INT, in, many, MPI_INT, ring);
  for (int i = 0; i < many; ++i) EXPECT(in[i] == before + i, "%d: %d", i, in[i]);
#if MPI_VERSION >= 4
  MPI_Request request;
  MPI_Neighbor_alltoall_init(in, 3, MPI_INT, out, 3, MPI_INT, ring, MPI_INFO_NULL, &request);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 3; ++i) in[i] = 10 * rank + round, out[i] = -1;
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 3; ++i) EXPECT_INT(out[i], 10 * before + round);
  }
  MPI_Request_free(&request);
#endif
  free(out);
  free(in);
  MPI_Comm_free(&ring);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  line();
  triangle();
  ring();
  return end();
}
