/* Cartesian, graph and distributed-graph topologies, and the collectives of neighbours. */
#include "conform.h"

static void dimensions(void) {
  int d[3] = {0, 0, 0};
  MPI_Dims_create(12, 2, d);
  EXPECT(d[0] == 4 && d[1] == 3, "%d x %d", d[0], d[1]);
  int e[3] = {0, 3, 0};
  MPI_Dims_create(12, 3, e);
  EXPECT(e[0] == 2 && e[1] == 3 && e[2] == 2, "%d x %d x %d", e[0], e[1], e[2]);
  int f[2] = {0, 0};
  MPI_Dims_create(7, 2, f);
  EXPECT(f[0] == 7 && f[1] == 1, "%d x %d", f[0], f[1]);
  int t[3] = {0, 0, 0}; /* 9 x 8 x 5 differ as little; their sum is the same. */
  MPI_Dims_create(360, 3, t);
  EXPECT(t[0] == 10 && t[1] == 6 && t[2] == 6, "%d x %d x %d", t[0], t[1], t[2]);
  int u[4] = {0, 0, 0, 0};
  MPI_Dims_create(20, 4, u);
  EXPECT(u[0] == 5 && u[1] == 2 && u[2] == 2 && u[3] == 1, "%d x %d x %d x %d", u[0], u[1], u[2], u[3]);
#ifdef MPI_ABI_VERSION /* Not all can. */
  int v[3] = {0, 0, 0};
  MPI_Dims_create(5040, 3, v);
  EXPECT(v[0] == 21 && v[1] == 16 && v[2] == 15, "%d x %d x %d", v[0], v[1], v[2]);
  int g[3] = {0, 0, 0}; /* With many divisors. */
  MPI_Dims_create(2095133040, 3, g);
  EXPECT((long)g[0] * g[1] * g[2] == 2095133040 && g[0] >= g[1] && g[1] >= g[2] && g[0] - g[2] < 200,
         "%d x %d x %d", g[0], g[1], g[2]);
  int h[8] = {0};
  long product = 1;
  MPI_Dims_create(1 << 30, 8, h);
  for (int d = 0; d < 8; ++d) product *= h[d];
  EXPECT(product == 1 << 30 && h[0] == 16 && h[7] == 8, "%d to %d, %ld in all", h[0], h[7], product);
  int p[2] = {0, 0}; /* A prime. */
  MPI_Dims_create(2147483647, 2, p);
  EXPECT(p[0] == 2147483647 && p[1] == 1, "%d x %d", p[0], p[1]);
#endif
}

static void cartesian(void) {
  MPI_Comm grid, row;
  int dims[2] = {0, 0}, periods[2] = {1, 0}, kind = -1, count = -1, got_dims[2], got_periods[2], coords[2], r = -1;
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Topo_test(grid, &kind);
  EXPECT_INT(kind, MPI_CART);
  MPI_Topo_test(MPI_COMM_WORLD, &kind);
  EXPECT_INT(kind, MPI_UNDEFINED);
  MPI_Cartdim_get(grid, &count);
  EXPECT_INT(count, 2);
  MPI_Cart_get(grid, 2, got_dims, got_periods, coords);
  EXPECT(got_dims[0] == dims[0] && got_dims[1] == dims[1] && got_periods[0] == 1 && got_periods[1] == 0 &&
             coords[0] == rank / dims[1] && coords[1] == rank % dims[1],
         "%d x %d, at %d %d", got_dims[0], got_dims[1], coords[0], coords[1]);
  MPI_Cart_rank(grid, coords, &r);
  EXPECT_INT(r, rank);
  int wrapped[2] = {coords[0] - dims[0], coords[1]}; /* A periodic dimension wraps. */
  MPI_Cart_rank(grid, wrapped, &r);
  EXPECT_INT(r, rank);
  MPI_Cart_coords(grid, size - 1, 2, wrapped);
  EXPECT(wrapped[0] == dims[0] - 1 && wrapped[1] == dims[1] - 1, "%d %d", wrapped[0], wrapped[1]);
  int from = -1, to = -1;
  MPI_Cart_shift(grid, 0, 1, &from, &to);
  EXPECT(to == (coords[0] + 1) % dims[0] * dims[1] + coords[1] &&
             from == (coords[0] + dims[0] - 1) % dims[0] * dims[1] + coords[1],
         "from %d to %d", from, to);
  MPI_Cart_shift(grid, 1, 1, &from, &to);
  EXPECT(to == (coords[1] + 1 < dims[1] ? rank + 1 : MPI_PROC_NULL) && from == (coords[1] > 0 ? rank - 1 : MPI_PROC_NULL),
         "from %d to %d", from, to);
  MPI_Cart_shift(grid, 1, -2, &from, &to);
  EXPECT(to == (coords[1] >= 2 ? rank - 2 : MPI_PROC_NULL), "to %d", to);

  int keep[2] = {0, 1}, n = -1;
  MPI_Cart_sub(grid, keep, &row);
  MPI_Comm_size(row, &n);
  MPI_Comm_rank(row, &r);
  EXPECT(n == dims[1] && r == coords[1], "%d of %d", r, n);
  MPI_Cartdim_get(row, &count);
  EXPECT_INT(count, 1);
  MPI_Comm copy; /* A copy has the topology too. */
  MPI_Comm_dup(grid, &copy);
  MPI_Topo_test(copy, &kind);
  EXPECT_INT(kind, MPI_CART);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&row);

  /* -0, +0, -1, +1. */
  int out[4], in[4] = {-1, -1, -1, -1}, around[4];
  MPI_Cart_shift(grid, 0, 1, &around[0], &around[1]);
  MPI_Cart_shift(grid, 1, 1, &around[2], &around[3]);
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, grid);
  for (int i = 0; i < 4; ++i) EXPECT(in[i] == (around[i] == MPI_PROC_NULL ? -1 : around[i]), "%d: %d", i, in[i]);
  for (int i = 0; i < 4; ++i) out[i] = 10 * rank + i, in[i] = -1;
  MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, grid);
  for (int i = 0; i < 4; ++i) /* What the neighbour in one direction sent in the other. */
    EXPECT(in[i] == (around[i] == MPI_PROC_NULL ? -1 : 10 * around[i] + (i ^ 1)), "%d: %d", i, in[i]);
  MPI_Comm_free(&grid);

  MPI_Comm smaller; /* Of fewer ranks than there are. */
  int mapped = -7, together = -7;
  int one[1] = {(size + 1) / 2}, no[1] = {0};
  MPI_Cart_create(MPI_COMM_WORLD, 1, one, no, 0, &smaller);
  EXPECT((smaller != MPI_COMM_NULL) == (rank < one[0]), "rank %d", rank);
  MPI_Cart_map(MPI_COMM_WORLD, 1, one, no, &mapped); /* As many have a place as there are. */
#ifndef OPEN_MPI /* 4.1 leaves out nobody. */
  EXPECT(mapped == MPI_UNDEFINED || (mapped >= 0 && mapped < one[0]), "%d", mapped);
  int has_place = mapped != MPI_UNDEFINED;
  MPI_Allreduce(&has_place, &together, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_INT(together, one[0]);
#endif
  if (smaller != MPI_COMM_NULL) MPI_Comm_free(&smaller);
  MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &smaller); /* No dimension: one rank. */
  EXPECT((smaller != MPI_COMM_NULL) == (rank == 0), "rank %d", rank);
  if (smaller != MPI_COMM_NULL) MPI_Comm_free(&smaller);
}

/* A ring in which rank 0 knows itself as well. */
static void graph(void) {
  int index[64], edges[256], at = 0, kind, nodes = 0, edge_count = 0, neighbours = 0, who[8];
  for (int r = 0; r < size; ++r) {
    if (r == 0) edges[at++] = 0;
    edges[at++] = (r + size - 1) % size;
    edges[at++] = (r + 1) % size;
    index[r] = at;
  }
  MPI_Comm ring;
  MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &ring);
  MPI_Topo_test(ring, &kind);
  EXPECT_INT(kind, MPI_GRAPH);
  MPI_Graphdims_get(ring, &nodes, &edge_count);
  EXPECT(nodes == size && edge_count == at, "%d nodes, %d edges", nodes, edge_count);
  MPI_Graph_neighbors_count(ring, rank, &neighbours);
  EXPECT_INT(neighbours, rank == 0 ? 3 : 2);
  MPI_Graph_neighbors(ring, rank, 8, who);
  EXPECT_INT(who[neighbours - 1], (rank + 1) % size);
  int got_index[64], got_edges[256];
  int mapped = -7; /* Where this rank would be put: one each has, or none. */
  MPI_Graph_map(MPI_COMM_WORLD, size, index, edges, &mapped);
  EXPECT(mapped >= 0 && mapped < size, "%d", mapped);
  MPI_Graph_get(ring, 64, 256, got_index, got_edges);
  EXPECT(got_index[size - 1] == at && got_edges[0] == 0, "%d", got_index[size - 1]);
  int in[8];
  if (size > 2) {
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, ring);
    for (int i = 0; i < neighbours; ++i) EXPECT(in[i] == who[i], "%d: %d", i, in[i]);
  }
  MPI_Comm_free(&ring);
}

/* Rank r sends to r + 1 and r + 2. */
static void distributed(void) {
  const int to[2] = {(rank + 1) % size, (rank + 2) % size}, from[2] = {(rank + size - 1) % size, (rank + 2 * size - 2) % size};
  const int weights[2] = {10, 20};
  MPI_Comm adjacent;
  int kind, in_degree = 0, out_degree = 0, weighted = -1, sources[2], source_weights[2], targets[2], target_weights[2];
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, from, weights, 2, to, weights, MPI_INFO_NULL, 0, &adjacent);
  MPI_Topo_test(adjacent, &kind);
  EXPECT_INT(kind, MPI_DIST_GRAPH);
  MPI_Dist_graph_neighbors_count(adjacent, &in_degree, &out_degree, &weighted);
  EXPECT(in_degree == 2 && out_degree == 2 && weighted, "%d %d %d", in_degree, out_degree, weighted);
  MPI_Dist_graph_neighbors(adjacent, 2, sources, source_weights, 2, targets, target_weights);
  EXPECT(sources[0] == from[0] && sources[1] == from[1] && targets[1] == to[1] && source_weights[1] == 20, "%d %d", sources[0],
         sources[1]);

  int in[8], out[8] = {0};
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, adjacent);
  EXPECT(in[0] == from[0] && in[1] == from[1], "%d %d", in[0], in[1]);
  if (size > 2) {
    for (int i = 0; i < 2; ++i) out[i] = 10 * rank + i;
    MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, adjacent);
    EXPECT(in[0] == 10 * from[0] && in[1] == 10 * from[1] + 1, "%d %d", in[0], in[1]);
    int counts[2] = {1, 2}, places[2] = {2, 0};
    MPI_Aint bytes[2] = {8, 0};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    for (int i = 0; i < 3; ++i) out[i] = 100 * rank + i, in[i] = -1;
    MPI_Neighbor_alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, adjacent);
    EXPECT(in[2] == 100 * from[0] + 2 && in[0] == 100 * from[1] && in[1] == 100 * from[1] + 1, "%d %d %d", in[0], in[1], in[2]);
    memset(in, 0xff, sizeof in);
    MPI_Neighbor_alltoallw(out, counts, bytes, types, in, counts, bytes, types, adjacent);
    EXPECT(in[2] == 100 * from[0] + 2 && in[1] == 100 * from[1] + 1, "%d %d", in[1], in[2]);
    memset(in, 0xff, sizeof in);
    MPI_Request r;
    MPI_Ineighbor_alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, adjacent, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    EXPECT(in[2] == 100 * from[0] + 2 && in[1] == 100 * from[1] + 1, "%d %d", in[1], in[2]);
    MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, adjacent, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    EXPECT(in[0] == 100 * from[0] && in[1] == 100 * from[1] + 1, "%d %d", in[0], in[1]);
  }
  int same_counts[2] = {2, 2}, gaps[2] = {4, 0};
  out[0] = rank, out[1] = -rank;
  MPI_Neighbor_allgatherv(out, 2, MPI_INT, in, same_counts, gaps, MPI_INT, adjacent);
  EXPECT(in[4] == from[0] && in[1] == -from[1], "%d %d", in[4], in[1]);
  MPI_Request r;
  in[0] = in[1] = -1;
  MPI_Ineighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, adjacent, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  EXPECT(in[0] == from[0] && in[1] == from[1], "%d %d", in[0], in[1]);
  MPI_Comm_free(&adjacent);

  /* The same graph, with every edge named by rank 0. */
  int all_sources[64], degrees[64], all_targets[128];
  for (int s = 0; s < size; ++s)
    all_sources[s] = s, degrees[s] = 2, all_targets[2 * s] = (s + 1) % size, all_targets[2 * s + 1] = (s + 2) % size;
  MPI_Comm general;
  MPI_Dist_graph_create(MPI_COMM_WORLD, rank == 0 ? size : 0, all_sources, degrees, all_targets, MPI_UNWEIGHTED, MPI_INFO_NULL,
                        0, &general);
  MPI_Dist_graph_neighbors_count(general, &in_degree, &out_degree, &weighted);
  EXPECT(in_degree == 2 && out_degree == 2 && !weighted, "%d %d %d", in_degree, out_degree, weighted);
  MPI_Comm_free(&general);
  /* Nobody knows anybody. */
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0,
                                 &general);
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, general);
  MPI_Comm_free(&general);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  dimensions();
  cartesian();
  graph();
  distributed();
  return end();
}
