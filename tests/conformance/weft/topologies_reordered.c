/* Topologies whose ranks may be reordered: each rank gets another rank's place and its neighbours, and neighbours come to share
   a worker or a process. Ranks that follow one another in MPI_COMM_WORLD do.

   Run with: -n 1
   Run with: -n 16 --workers 4
   Run with: -n 15 --workers 4
   Run with: -n 16 --processes 4
   Run with: -n 8 --processes 4 --check
   Run with: -n 16 --workers 4 --reorder off */
#include "../conform.h"

enum { most = 16, homes = 4 };

static int home_of(int r) { return r * homes / size; }

/* Checks that the places are one each; returns the edges between homes. `next`: a rank's neighbours, the count in front. */
static int edges_cut(MPI_Comm comm, int next[][5]) {
  int old[most], seen[most] = {0}, cut = 0, count = 0;
  MPI_Comm_size(comm, &count);
  EXPECT_INT(count, size);
  MPI_Allgather(&rank, 1, MPI_INT, old, 1, MPI_INT, comm);
  for (int r = 0; r < count; ++r) EXPECT(seen[old[r]]++ == 0, "rank %d has two places", old[r]);
  for (int r = 0; r < count; ++r)
    for (int i = 1; i <= next[r][0]; ++i) cut += home_of(old[r]) != home_of(old[next[r][i]]);
  return cut;
}

static void is_place(MPI_Comm comm, int mapped) {
  int place = -1;
  MPI_Comm_rank(comm, &place);
  EXPECT_INT(mapped, place);
}

/* What each neighbour says is its own number. */
static void neighbours_meet(MPI_Comm comm, const int* who, int count) {
  int place = -1, in[8];
  MPI_Comm_rank(comm, &place);
  for (int i = 0; i < 8; ++i) in[i] = -1;
  MPI_Neighbor_allgather(&place, 1, MPI_INT, in, 1, MPI_INT, comm);
  for (int i = 0; i < count; ++i) EXPECT_INT(in[i], who[i] == MPI_PROC_NULL ? -1 : who[i]);
}

static void grid(void) {
  MPI_Comm comm, smaller;
  int dims[2] = {0, 0}, periods[2] = {0, 0}, mapped = -1, around[4], next[most][5] = {{0}};
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &comm);
  MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &mapped);
  is_place(comm, mapped);
  MPI_Cart_shift(comm, 0, 1, &around[0], &around[1]);
  MPI_Cart_shift(comm, 1, 1, &around[2], &around[3]);
  neighbours_meet(comm, around, 4);
  for (int p = 0; p < size; ++p) {
    if (p % dims[1] + 1 < dims[1]) next[p][++next[p][0]] = p + 1;
    if (p + dims[1] < size) next[p][++next[p][0]] = p + dims[1];
  }
  const int cut = edges_cut(comm, next), before = edges_cut(MPI_COMM_WORLD, next);
  EXPECT(cut <= before, "%d edges between homes, %d without reordering", cut, before);
  if (size == 16) EXPECT(cut == 8 && before == 12, "%d edges between homes, %d without reordering", cut, before);
  MPI_Comm_free(&comm);

  int few[1] = {(size + 1) / 2}, wraps[1] = {1};
  MPI_Cart_create(MPI_COMM_WORLD, 1, few, wraps, 1, &smaller);
  MPI_Cart_map(MPI_COMM_WORLD, 1, few, wraps, &mapped);
  EXPECT((smaller == MPI_COMM_NULL) == (mapped == MPI_UNDEFINED), "%d", mapped);
  if (smaller != MPI_COMM_NULL) {
    is_place(smaller, mapped);
    MPI_Comm_free(&smaller);
  }
}

/* Rings of every fourth rank: after reordering each is in one home, where they are of equal size. */
static void set_rings(int next[][5]) {
  for (int p = 0; p < size; ++p) next[p][0] = 2;
  for (int p = 0; p < size; ++p) {
    const int after = p + 4 < size ? p + 4 : p % 4;
    next[p][1] = after;
    next[after][2] = p;
  }
}

static void graph(void) {
  MPI_Comm comm;
  int index[most], edges[2 * most], next[most][5] = {{0}}, mapped = -1, place = -1, count = 0, who[8];
  set_rings(next);
  for (int p = 0; p < size; ++p) {
    index[p] = 2 * (p + 1);
    edges[2 * p] = next[p][1];
    edges[2 * p + 1] = next[p][2];
  }
  MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 1, &comm);
  MPI_Graph_map(MPI_COMM_WORLD, size, index, edges, &mapped);
  is_place(comm, mapped);
  MPI_Comm_rank(comm, &place);
  MPI_Graph_neighbors_count(comm, place, &count);
  EXPECT_INT(count, 2);
  MPI_Graph_neighbors(comm, place, 8, who);
  EXPECT(who[0] == next[place][1] && who[1] == next[place][2], "%d and %d", who[0], who[1]);
  if (size > 1) neighbours_meet(comm, who, 2);
  const int cut = edges_cut(comm, next), before = edges_cut(MPI_COMM_WORLD, next);
  EXPECT(cut <= before, "%d edges between homes, %d without reordering", cut, before);
  if (size == 16) EXPECT(cut == 0 && before == 32, "%d edges between homes, %d without reordering", cut, before);
  MPI_Comm_free(&comm);
}

/* The same, of which each rank knows its own edges, or of other ranks'. `weighted`: the way back counts more. */
static void distributed(int adjacent, int weighted) {
  MPI_Comm comm;
  int next[most][5] = {{0}}, place = -1, in = -1, out = -1, has_weights = -1, from[4], to[4], back[4], there[4];
  set_rings(next);
  const int named = (rank + 1) % size, weights[2] = {1, 3}, *given = weighted ? weights : MPI_UNWEIGHTED;
  const int reverse[2] = {next[rank][2], next[rank][1]};
  if (adjacent) {
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, reverse, given, 2, &next[rank][1], given, MPI_INFO_NULL, 1, &comm);
  } else {
    const int degree = 2;
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &named, &degree, &next[named][1], given, MPI_INFO_NULL, 1, &comm);
  }
  MPI_Comm_rank(comm, &place);
  MPI_Dist_graph_neighbors_count(comm, &in, &out, &has_weights);
  EXPECT(in == 2 && out == 2 && has_weights == weighted, "%d in, %d out, weights: %d", in, out, has_weights);
  MPI_Dist_graph_neighbors(comm, 2, from, back, 2, to, there);
  EXPECT(to[0] == next[place][1] && to[1] == next[place][2], "%d and %d", to[0], to[1]);
  if (weighted) EXPECT(there[0] == 1 && there[1] == 3 && back[0] + back[1] == 4, "weights");
  if (size > 8) neighbours_meet(comm, from, 2);
  const int cut = edges_cut(comm, next), before = edges_cut(MPI_COMM_WORLD, next);
  if (size == 16) EXPECT(cut == 0 && before == 32, "%d edges between homes, %d without reordering", cut, before);
  EXPECT(cut <= before, "%d edges between homes, %d without reordering", cut, before);
  MPI_Comm_free(&comm);
}

/* So many neighbours that the ranks of one process do not gather them. */
static void stays(void) {
  enum { each = (1 << 25) / (16 * 16) + 1 };
  MPI_Comm here, comm;
  MPI_Info by_process;
  int next[most][5] = {{0}}, together = 0;
  MPI_Info_create(&by_process);
  MPI_Info_set(by_process, "mpi_pset_name", "weft://process");
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, by_process, &here);
  MPI_Comm_size(here, &together);
  MPI_Comm_free(&here);
  MPI_Info_free(&by_process);
  if (together != 16) return;
  set_rings(next);
  int* const to = malloc(each * sizeof *to);
  for (int i = 0; i < each; ++i) to[i] = next[rank][1];
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_UNWEIGHTED, each, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &comm);
  is_place(comm, rank);
  MPI_Comm_free(&comm);
  free(to);
}

/* With the setting off. */
static void all_stay(void) {
  MPI_Comm comm;
  int dims[2] = {0, 0}, periods[2] = {0, 0}, mapped = -1, next[most][5] = {{0}};
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &comm);
  is_place(comm, rank);
  MPI_Comm_free(&comm);
  MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &mapped);
  EXPECT_INT(mapped, rank);
  set_rings(next);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &next[rank][2], MPI_UNWEIGHTED, 1, &next[rank][1], MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 1, &comm);
  is_place(comm, rank);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const char* const setting = getenv("WEFT_REORDER");
  if (setting != NULL && strcmp(setting, "off") == 0) {
    all_stay();
    return end();
  }
  grid();
  graph();
  for (int weighted = 0; weighted < 2; ++weighted) {
    distributed(1, weighted);
    distributed(0, weighted);
  }
  stays();
  return end();
}
