// Virtual topologies: Cartesian grids, graphs and distributed graphs. Ranks are not reordered: those
// that follow one another share a worker already.
#include "mpi/topology.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "mpi/profiling.hpp"
#include "mpi/state.hpp"
#include "rank/new_communicators.hpp"

namespace weft::mpi {

using namespace detail;

namespace {

const topology& checked_topology(state& me, MPI_Comm comm, int kind) {
  const communicator_object& c = checked_communicator(me, comm);
  if (c.topology == nullptr || c.topology->kind != kind)
    fail(MPI_ERR_TOPOLOGY, "{} has no {}", text_of(comm),
         kind == MPI_CART    ? "Cartesian topology: make one with MPI_Cart_create"
         : kind == MPI_GRAPH ? "graph: make one with MPI_Graph_create"
                             : "distributed graph: make one with MPI_Dist_graph_create");
  return *c.topology;
}

MPI_Comm add_with_topology(state& me, communicator_object& parent, bool member, const char* call,
                           const std::shared_ptr<topology>& made) {
  const MPI_Comm comm = add_communicator(
      me, split(*parent.shared, parent.own, member ? 0 : undefined_color, 0, call), parent);
  if (comm != MPI_COMM_NULL) find_object<communicator_object>(comm)->topology = made;
  return comm;
}

// --- Grids -----------------------------------------------------------------------------------------

int size_of(const std::vector<int>& dims) {
  return std::accumulate(dims.begin(), dims.end(), 1, std::multiplies<>{});
}

std::vector<int> coordinates_of(const topology& t, int rank) {
  std::vector<int> at(t.dims.size());
  for (std::size_t d = t.dims.size(); d-- > 0;) {
    at[d] = rank % t.dims[d];
    rank /= t.dims[d];
  }
  return at;
}

// MPI_PROC_NULL beyond an edge.
int rank_at(const topology& t, const std::vector<int>& at) {
  int rank = 0;
  for (std::size_t d = 0; d < t.dims.size(); ++d) {
    int x = at[d];
    if (t.periods[d] != 0)
      x = (x % t.dims[d] + t.dims[d]) % t.dims[d];
    else if (x < 0 || x >= t.dims[d])
      return MPI_PROC_NULL;
    rank = rank * t.dims[d] + x;
  }
  return rank;
}

int rank_beside(const topology& t, int rank, int direction, long steps) {
  std::vector<int> at = coordinates_of(t, rank);
  const auto d = static_cast<std::size_t>(direction);
  const long x = at[d] + steps;
  if (t.periods[d] != 0)
    at[d] = static_cast<int>((x % t.dims[d] + t.dims[d]) % t.dims[d]);
  else if (x < 0 || x >= t.dims[d])
    return MPI_PROC_NULL;
  else
    at[d] = static_cast<int>(x);
  return rank_at(t, at);
}

// What moves down in a dimension, and what moves up, have tags of their own: from the neighbour below
// comes what moves up.
void set_grid_neighbors(topology& t, int rank) {
  for (int d = 0; d < static_cast<int>(t.dims.size()); ++d) {
    const int below = rank_beside(t, rank, d, -1);
    const int above = rank_beside(t, rank, d, 1);
    t.sources.push_back({below, 2 * d + 1});
    t.sources.push_back({above, 2 * d});
    t.destinations.push_back({below, 2 * d});
    t.destinations.push_back({above, 2 * d + 1});
  }
}

std::vector<int> checked_dims(int ndims, const int dims[]) {
  if (ndims < 0) fail(MPI_ERR_DIMS, "ndims is {}: it is 0 or more", ndims);
  if (ndims > 0) check_not_null(dims, "dims");
  std::vector<int> sizes(dims, dims + ndims);
  for (int d = 0; d < ndims; ++d)
    if (sizes[static_cast<std::size_t>(d)] <= 0)
      fail(MPI_ERR_DIMS, "dims[{}] is {}: it is 1 or more", d, sizes[static_cast<std::size_t>(d)]);
  return sizes;
}

// No more ranks than the communicator has.
void check_grid(const communicator_object& c, const std::vector<int>& dims) {
  long size = 1;
  for (const int n : dims)
    if ((size *= n) > c.peers_count)
      fail(MPI_ERR_DIMS, "the grid has more ranks than the communicator, which has {}",
           c.peers_count);
}

MPI_Comm create_grid(state& me, MPI_Comm comm, int ndims, const int dims[], const int periods[]) {
  communicator_object& c = checked_intracommunicator(me, comm);
  auto t = std::make_shared<topology>();
  t->kind = MPI_CART;
  t->dims = checked_dims(ndims, dims);
  check_grid(c, t->dims);
  if (ndims > 0) check_not_null(periods, "periods");
  t->periods.assign(periods, periods + ndims);
  const bool member = c.own < size_of(t->dims);
  if (member) set_grid_neighbors(*t, c.own);
  return add_with_topology(me, c, member, "MPI_Cart_create", t);
}

MPI_Comm create_sub_grid(state& me, MPI_Comm comm, const int remain_dims[]) {
  const topology& t = checked_topology(me, comm, MPI_CART);
  communicator_object& c = checked_communicator(me, comm);
  if (!t.dims.empty()) check_not_null(remain_dims, "remain_dims");
  auto sub = std::make_shared<topology>();
  sub->kind = MPI_CART;
  const std::vector<int> at = coordinates_of(t, c.own);
  int color = 0;
  int place = 0;
  for (std::size_t d = 0; d < t.dims.size(); ++d) {
    int& where = remain_dims[d] != 0 ? place : color;
    where = where * t.dims[d] + at[d];
    if (remain_dims[d] == 0) continue;
    sub->dims.push_back(t.dims[d]);
    sub->periods.push_back(t.periods[d]);
  }
  set_grid_neighbors(*sub, place);
  const MPI_Comm made =
      add_communicator(me, split(*c.shared, c.own, color, place, "MPI_Cart_sub"), c);
  find_object<communicator_object>(made)->topology = sub;
  return made;
}

std::vector<int> divisors_of(int n) {
  std::vector<int> low, high;
  for (long d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    low.push_back(static_cast<int>(d));
    if (d * d != n) high.push_back(static_cast<int>(n / d));
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

// At most one more than the largest int, which is all that it is compared with.
long power(int base, int exponent) {
  constexpr long enough = std::numeric_limits<int>::max() + 1L;
  long product = 1;
  for (int i = 0; i < exponent && product < enough && base > 1; ++i) product *= base;
  return std::min(product, enough);
}

// The largest number whose power is no more than n.
int root(int n, int exponent) {
  int r = static_cast<int>(std::pow(n, 1.0 / exponent)) + 1;
  while (power(r, exponent) > n) --r;
  return r;
}

// Of two factorizations in descending order: the one whose first and last differ less, then that with the
// smaller sum, then that with the larger first factor. What other libraries choose, too.
bool more_equal(const std::vector<int>& a, const std::vector<int>& b) {
  const int spread_of_a = a.front() - a.back(), spread_of_b = b.front() - b.back();
  if (spread_of_a != spread_of_b) return spread_of_a < spread_of_b;
  const int sum_of_a = std::accumulate(a.begin(), a.end(), 0);
  const int sum_of_b = std::accumulate(b.begin(), b.end(), 0);
  return sum_of_a != sum_of_b ? sum_of_a < sum_of_b : a > b;
}

void choose_dims(int nnodes, int ndims, int dims[]) {
  if (nnodes < 1) fail(MPI_ERR_ARG, "nnodes is {}: it is 1 or more", nnodes);
  if (ndims < 0) fail(MPI_ERR_DIMS, "ndims is {}: it is 0 or more", ndims);
  if (ndims > 0) check_not_null(dims, "dims");
  long given = 1;
  int open = 0;
  for (int d = 0; d < ndims; ++d) {
    if (dims[d] < 0) fail(MPI_ERR_DIMS, "dims[{}] is {}: it is 0 or more", d, dims[d]);
    if (dims[d] == 0)
      ++open;
    else
      given *= dims[d];
  }
  if (nnodes % given != 0 || (open == 0 && given != nnodes))
    fail(MPI_ERR_DIMS, "{} ranks cannot be shared out to the dimensions given, which hold {}", nnodes,
         given);
  if (open == 0) return;
  // The first factor ascends, so that the last one can only get smaller.
  const int rest = static_cast<int>(nnodes / given);
  const std::vector<int> divisors = divisors_of(rest);
  std::vector<int> best, factors;
  const std::function<void(int, int, int)> try_all = [&](int left, int places, int most) {
    if (places == 1) {
      if (left > most) return;
      factors.push_back(left);
      if (best.empty() || more_equal(factors, best)) best = factors;
      factors.pop_back();
      return;
    }
    for (const int f : divisors) {
      if (f > most || f > left) break;
      if (left % f != 0 || power(f, places) < left) continue;
      const int first = factors.empty() ? f : factors.front();
      if (!best.empty() && first - root(left / f, places - 1) > best.front() - best.back()) break;
      factors.push_back(f);
      try_all(left / f, places - 1, f);
      factors.pop_back();
    }
  };
  try_all(rest, open, rest);
  for (int d = 0, next = 0; d < ndims; ++d)
    if (dims[d] == 0) dims[d] = best[static_cast<std::size_t>(next++)];
}

// --- Graphs ------------------------------------------------------------------------------------------

std::vector<int> neighbors_in_graph(const topology& t, int rank) {
  const auto r = static_cast<std::size_t>(rank);
  const int begin = rank == 0 ? 0 : t.index[r - 1];
  return {t.edges.begin() + begin, t.edges.begin() + t.index[r]};
}

std::shared_ptr<topology> checked_graph(const communicator_object& c, int nnodes, const int index[],
                                        const int edges[]) {
  if (nnodes < 0 || nnodes > c.peers_count)
    fail(MPI_ERR_ARG, "nnodes is {}: the communicator has {} ranks", nnodes, c.peers_count);
  auto t = std::make_shared<topology>();
  t->kind = MPI_GRAPH;
  if (nnodes == 0) return t;
  check_not_null(index, "index");
  t->index.assign(index, index + nnodes);
  for (int i = 0; i < nnodes; ++i)
    if (index[i] < (i == 0 ? 0 : index[i - 1]))
      fail(MPI_ERR_ARG, "index[{}] is {}: the numbers of neighbours add up, and cannot fall", i,
           index[i]);
  if (index[nnodes - 1] > 0) check_not_null(edges, "edges");
  t->edges.assign(edges, edges + index[nnodes - 1]);
  for (std::size_t i = 0; i < t->edges.size(); ++i)
    if (t->edges[i] < 0 || t->edges[i] >= nnodes)
      fail(MPI_ERR_ARG, "edges[{}] is {}: the graph has nodes 0 to {}", i, t->edges[i], nnodes - 1);
  return t;
}

MPI_Comm create_graph(state& me, MPI_Comm comm, int nnodes, const int index[], const int edges[]) {
  communicator_object& c = checked_intracommunicator(me, comm);
  const std::shared_ptr<topology> t = checked_graph(c, nnodes, index, edges);
  const bool member = c.own < nnodes;
  if (member)
    for (const int r : neighbors_in_graph(*t, c.own)) {
      t->sources.push_back({r, 0});
      t->destinations.push_back({r, 0});
    }
  return add_with_topology(me, c, member, "MPI_Graph_create", t);
}

// --- Distributed graphs --------------------------------------------------------------------------------

bool are_weights(const int* weights) { return weights != MPI_UNWEIGHTED; }

void check_nodes(const communicator_object& c, const std::vector<int>& ranks, const char* what) {
  for (const int r : ranks)
    if (r < 0 || r >= c.peers_count)
      fail(MPI_ERR_RANK, "{} holds rank {}: the communicator has ranks 0 to {}", what, r,
           c.peers_count - 1);
}
std::vector<int> list_of(int count, const int values[], const char* what) {
  if (count < 0) fail(MPI_ERR_ARG, "the number of {} is {}: it is 0 or more", what, count);
  if (count > 0) check_not_null(values, what);
  return {values, values + count};
}
std::vector<int> weights_of(int count, const int weights[], const char* what) {
  if (!are_weights(weights) || weights == MPI_WEIGHTS_EMPTY) return {};
  std::vector<int> list = list_of(count, weights, what);
  for (const int w : list)
    if (w < 0) fail(MPI_ERR_ARG, "{} holds {}: weights are 0 or more", what, w);
  return list;
}

MPI_Comm create_adjacent(state& me, MPI_Comm comm, int indegree, const int sources[],
                         const int sourceweights[], int outdegree, const int destinations[],
                         const int destweights[]) {
  communicator_object& c = checked_intracommunicator(me, comm);
  auto t = std::make_shared<topology>();
  t->kind = MPI_DIST_GRAPH;
  const std::vector<int> in = list_of(indegree, sources, "sources");
  const std::vector<int> out = list_of(outdegree, destinations, "destinations");
  check_nodes(c, in, "sources");
  check_nodes(c, out, "destinations");
  for (const int r : in) t->sources.push_back({r, 0});
  for (const int r : out) t->destinations.push_back({r, 0});
  t->weighted = are_weights(sourceweights) && are_weights(destweights);
  t->source_weights = weights_of(indegree, sourceweights, "sourceweights");
  t->destination_weights = weights_of(outdegree, destweights, "destweights");
  return add_with_topology(me, c, true, "MPI_Dist_graph_create_adjacent", t);
}

// Each rank names edges between any two; all see all, and keep their own.
MPI_Comm create_distributed(state& me, MPI_Comm comm, int n, const int sources[],
                            const int degrees[], const int destinations[], const int weights[]) {
  communicator_object& c = checked_intracommunicator(me, comm);
  const std::vector<int> from = list_of(n, sources, "sources");
  const std::vector<int> degree = list_of(n, degrees, "degrees");
  check_nodes(c, from, "sources");
  int total = 0;
  for (const int d : degree) {
    if (d < 0) fail(MPI_ERR_ARG, "degrees holds {}: it is 0 or more", d);
    total += d;
  }
  const std::vector<int> to = list_of(total, destinations, "destinations");
  check_nodes(c, to, "destinations");
  const std::vector<int> weight = weights_of(total, weights, "weights");
  struct edge {
    int from, to, weight;
  };
  std::vector<edge> mine;
  for (std::size_t i = 0, at = 0; i < from.size(); ++i)
    for (int d = 0; d < degree[i]; ++d, ++at)
      mine.push_back({from[i], to[at], weight.empty() ? 1 : weight[at]});
  auto t = std::make_shared<topology>();
  t->kind = MPI_DIST_GRAPH;
  t->weighted = are_weights(weights);
  for (const edge& e : c.ranks.allgatherv(mine)) {
    if (e.to == c.own) {
      t->sources.push_back({e.from, 0});
      t->source_weights.push_back(e.weight);
    }
    if (e.from == c.own) {
      t->destinations.push_back({e.to, 0});
      t->destination_weights.push_back(e.weight);
    }
  }
  return add_with_topology(me, c, true, "MPI_Dist_graph_create", t);
}

void tell_neighbors(const std::vector<neighbor>& all, const std::vector<int>& all_weights,
                    bool weighted, int most, int ranks[], int weights[], const char* what) {
  const int count = std::min(most, static_cast<int>(all.size()));
  if (most < 0) fail(MPI_ERR_ARG, "the room for {} is {}: it is 0 or more", what, most);
  if (count > 0) check_not_null(ranks, what);
  for (int i = 0; i < count; ++i) ranks[i] = all[static_cast<std::size_t>(i)].rank;
  if (!weighted || weights == MPI_UNWEIGHTED || weights == MPI_WEIGHTS_EMPTY || count == 0) return;
  check_not_null(weights, "weights");
  for (int i = 0; i < count && static_cast<std::size_t>(i) < all_weights.size(); ++i)
    weights[i] = all_weights[static_cast<std::size_t>(i)];
}

void check_member(const communicator_object& c, int rank) {
  if (rank < 0 || rank >= c.peers_count)
    fail(MPI_ERR_RANK, "rank {}: the communicator has ranks 0 to {}", rank, c.peers_count - 1);
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_Topo_test, (MPI_Comm comm, int* status)) {
  return in_call("MPI_Topo_test", comm, [&](state& me) {
    check_not_null(status, "status");
    const communicator_object& c = checked_communicator(me, comm);
    *status = c.topology == nullptr ? static_cast<int>(MPI_UNDEFINED) : c.topology->kind;
  }, comm);
}

WEFT_MPI_FUNCTION(int, MPI_Dims_create, (int nnodes, int ndims, int dims[])) {
  return in_call("MPI_Dims_create", MPI_COMM_SELF,
                 [&](state&) { choose_dims(nnodes, ndims, dims); }, nnodes, ndims);
}

// --- Grids -------------------------------------------------------------------------------------------

WEFT_MPI_FUNCTION(int, MPI_Cart_create,
                  (MPI_Comm comm_old, int ndims, const int dims[], const int periods[], int reorder,
                   MPI_Comm* comm_cart)) {
  return in_call("MPI_Cart_create", comm_old, [&](state& me) {
    check_not_null(comm_cart, "comm_cart");
    *comm_cart = MPI_COMM_NULL;
    *comm_cart = create_grid(me, comm_old, ndims, dims, periods);
  }, comm_old, ndims, static_cast<const void*>(dims), static_cast<const void*>(periods), reorder);
}

WEFT_MPI_FUNCTION(int, MPI_Cartdim_get, (MPI_Comm comm, int* ndims)) {
  return in_call("MPI_Cartdim_get", comm, [&](state& me) {
    check_not_null(ndims, "ndims");
    *ndims = static_cast<int>(checked_topology(me, comm, MPI_CART).dims.size());
  }, comm);
}

WEFT_MPI_FUNCTION(int, MPI_Cart_get,
                  (MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[])) {
  return in_call("MPI_Cart_get", comm, [&](state& me) {
    const topology& t = checked_topology(me, comm, MPI_CART);
    const std::vector<int> at = coordinates_of(t, checked_communicator(me, comm).own);
    const auto count = std::min<std::size_t>(t.dims.size(), static_cast<std::size_t>(std::max(maxdims, 0)));
    if (count != 0) {
      check_not_null(dims, "dims");
      check_not_null(periods, "periods");
      check_not_null(coords, "coords");
    }
    for (std::size_t d = 0; d < count; ++d) {
      dims[d] = t.dims[d];
      periods[d] = t.periods[d] != 0;
      coords[d] = at[d];
    }
  }, comm, maxdims);
}

WEFT_MPI_FUNCTION(int, MPI_Cart_rank, (MPI_Comm comm, const int coords[], int* rank)) {
  return in_call("MPI_Cart_rank", comm, [&](state& me) {
    check_not_null(rank, "rank");
    const topology& t = checked_topology(me, comm, MPI_CART);
    if (!t.dims.empty()) check_not_null(coords, "coords");
    for (std::size_t d = 0; d < t.dims.size(); ++d)
      if (t.periods[d] == 0 && (coords[d] < 0 || coords[d] >= t.dims[d]))
        fail(MPI_ERR_ARG, "coords[{}] is {}: the dimension is not periodic and has 0 to {}", d,
             coords[d], t.dims[d] - 1);
    *rank = rank_at(t, {coords, coords + t.dims.size()});
  }, comm);
}

WEFT_MPI_FUNCTION(int, MPI_Cart_coords, (MPI_Comm comm, int rank, int maxdims, int coords[])) {
  return in_call("MPI_Cart_coords", comm, [&](state& me) {
    const topology& t = checked_topology(me, comm, MPI_CART);
    check_member(checked_communicator(me, comm), rank);
    const std::vector<int> at = coordinates_of(t, rank);
    if (static_cast<std::size_t>(std::max(maxdims, 0)) < at.size())
      fail(MPI_ERR_ARG, "maxdims is {}: the grid has {} dimensions", maxdims, at.size());
    if (!at.empty()) check_not_null(coords, "coords");
    std::copy(at.begin(), at.end(), coords);
  }, comm, rank, maxdims);
}

WEFT_MPI_FUNCTION(int, MPI_Cart_shift,
                  (MPI_Comm comm, int direction, int disp, int* rank_source, int* rank_dest)) {
  return in_call("MPI_Cart_shift", comm, [&](state& me) {
    check_not_null(rank_source, "rank_source");
    check_not_null(rank_dest, "rank_dest");
    const topology& t = checked_topology(me, comm, MPI_CART);
    if (direction < 0 || static_cast<std::size_t>(direction) >= t.dims.size())
      fail(MPI_ERR_DIMS, "direction {}: the grid has dimensions 0 to {}", direction,
           static_cast<int>(t.dims.size()) - 1);
    const int own = checked_communicator(me, comm).own;
    *rank_source = rank_beside(t, own, direction, -static_cast<long>(disp));
    *rank_dest = rank_beside(t, own, direction, disp);
  }, comm, direction, disp);
}

WEFT_MPI_FUNCTION(int, MPI_Cart_sub, (MPI_Comm comm, const int remain_dims[], MPI_Comm* newcomm)) {
  return in_call("MPI_Cart_sub", comm, [&](state& me) {
    check_not_null(newcomm, "newcomm");
    *newcomm = MPI_COMM_NULL;
    *newcomm = create_sub_grid(me, comm, remain_dims);
  }, comm);
}

WEFT_MPI_FUNCTION(int, MPI_Cart_map,
                  (MPI_Comm comm, int ndims, const int dims[], const int periods[], int* newrank)) {
  return in_call("MPI_Cart_map", comm, [&](state& me) {
    check_not_null(newrank, "newrank");
    const communicator_object& c = checked_intracommunicator(me, comm);
    const std::vector<int> sizes = checked_dims(ndims, dims);
    check_grid(c, sizes);
    *newrank = c.own < size_of(sizes) ? c.own : static_cast<int>(MPI_UNDEFINED);
  }, comm, ndims, static_cast<const void*>(dims), static_cast<const void*>(periods));
}

// --- Graphs ------------------------------------------------------------------------------------------

WEFT_MPI_FUNCTION(int, MPI_Graph_create,
                  (MPI_Comm comm_old, int nnodes, const int index[], const int edges[], int reorder,
                   MPI_Comm* comm_graph)) {
  return in_call("MPI_Graph_create", comm_old, [&](state& me) {
    check_not_null(comm_graph, "comm_graph");
    *comm_graph = MPI_COMM_NULL;
    *comm_graph = create_graph(me, comm_old, nnodes, index, edges);
  }, comm_old, nnodes, static_cast<const void*>(index), static_cast<const void*>(edges), reorder);
}

WEFT_MPI_FUNCTION(int, MPI_Graphdims_get, (MPI_Comm comm, int* nnodes, int* nedges)) {
  return in_call("MPI_Graphdims_get", comm, [&](state& me) {
    check_not_null(nnodes, "nnodes");
    check_not_null(nedges, "nedges");
    const topology& t = checked_topology(me, comm, MPI_GRAPH);
    *nnodes = static_cast<int>(t.index.size());
    *nedges = static_cast<int>(t.edges.size());
  }, comm);
}

WEFT_MPI_FUNCTION(int, MPI_Graph_get,
                  (MPI_Comm comm, int maxindex, int maxedges, int index[], int edges[])) {
  return in_call("MPI_Graph_get", comm, [&](state& me) {
    const topology& t = checked_topology(me, comm, MPI_GRAPH);
    const auto nodes = std::min<std::size_t>(t.index.size(), static_cast<std::size_t>(std::max(maxindex, 0)));
    const auto count = std::min<std::size_t>(t.edges.size(), static_cast<std::size_t>(std::max(maxedges, 0)));
    if (nodes != 0) check_not_null(index, "index");
    if (count != 0) check_not_null(edges, "edges");
    std::copy_n(t.index.begin(), nodes, index);
    std::copy_n(t.edges.begin(), count, edges);
  }, comm, maxindex, maxedges);
}

WEFT_MPI_FUNCTION(int, MPI_Graph_neighbors_count, (MPI_Comm comm, int rank, int* nneighbors)) {
  return in_call("MPI_Graph_neighbors_count", comm, [&](state& me) {
    check_not_null(nneighbors, "nneighbors");
    const topology& t = checked_topology(me, comm, MPI_GRAPH);
    check_member(checked_communicator(me, comm), rank);
    *nneighbors = static_cast<int>(neighbors_in_graph(t, rank).size());
  }, comm, rank);
}

WEFT_MPI_FUNCTION(int, MPI_Graph_neighbors,
                  (MPI_Comm comm, int rank, int maxneighbors, int neighbors[])) {
  return in_call("MPI_Graph_neighbors", comm, [&](state& me) {
    const topology& t = checked_topology(me, comm, MPI_GRAPH);
    check_member(checked_communicator(me, comm), rank);
    const std::vector<int> all = neighbors_in_graph(t, rank);
    const auto count = std::min<std::size_t>(all.size(), static_cast<std::size_t>(std::max(maxneighbors, 0)));
    if (count != 0) check_not_null(neighbors, "neighbors");
    std::copy_n(all.begin(), count, neighbors);
  }, comm, rank, maxneighbors);
}

WEFT_MPI_FUNCTION(int, MPI_Graph_map,
                  (MPI_Comm comm, int nnodes, const int index[], const int edges[], int* newrank)) {
  return in_call("MPI_Graph_map", comm, [&](state& me) {
    check_not_null(newrank, "newrank");
    const communicator_object& c = checked_intracommunicator(me, comm);
    (void)checked_graph(c, nnodes, index, edges);
    *newrank = c.own < nnodes ? c.own : static_cast<int>(MPI_UNDEFINED);
  }, comm, nnodes);
}

// --- Distributed graphs --------------------------------------------------------------------------------

WEFT_MPI_FUNCTION(int, MPI_Dist_graph_create_adjacent,
                  (MPI_Comm comm_old, int indegree, const int sources[], const int sourceweights[],
                   int outdegree, const int destinations[], const int destweights[], MPI_Info info,
                   int reorder, MPI_Comm* comm_dist_graph)) {
  return in_call("MPI_Dist_graph_create_adjacent", comm_old, [&](state& me) {
    check_not_null(comm_dist_graph, "comm_dist_graph");
    *comm_dist_graph = MPI_COMM_NULL;
    check_hints(me, info);
    *comm_dist_graph = create_adjacent(me, comm_old, indegree, sources, sourceweights, outdegree,
                                       destinations, destweights);
  }, comm_old, indegree, static_cast<const void*>(sources), outdegree,
     static_cast<const void*>(destinations), info, reorder);
}

WEFT_MPI_FUNCTION(int, MPI_Dist_graph_create,
                  (MPI_Comm comm_old, int n, const int sources[], const int degrees[],
                   const int destinations[], const int weights[], MPI_Info info, int reorder,
                   MPI_Comm* comm_dist_graph)) {
  return in_call("MPI_Dist_graph_create", comm_old, [&](state& me) {
    check_not_null(comm_dist_graph, "comm_dist_graph");
    *comm_dist_graph = MPI_COMM_NULL;
    check_hints(me, info);
    *comm_dist_graph =
        create_distributed(me, comm_old, n, sources, degrees, destinations, weights);
  }, comm_old, n, static_cast<const void*>(sources), static_cast<const void*>(degrees), info,
     reorder);
}

WEFT_MPI_FUNCTION(int, MPI_Dist_graph_neighbors_count,
                  (MPI_Comm comm, int* indegree, int* outdegree, int* weighted)) {
  return in_call("MPI_Dist_graph_neighbors_count", comm, [&](state& me) {
    check_not_null(indegree, "indegree");
    check_not_null(outdegree, "outdegree");
    check_not_null(weighted, "weighted");
    const topology& t = checked_topology(me, comm, MPI_DIST_GRAPH);
    *indegree = static_cast<int>(t.sources.size());
    *outdegree = static_cast<int>(t.destinations.size());
    *weighted = t.weighted;
  }, comm);
}

WEFT_MPI_FUNCTION(int, MPI_Dist_graph_neighbors,
                  (MPI_Comm comm, int maxindegree, int sources[], int sourceweights[],
                   int maxoutdegree, int destinations[], int destweights[])) {
  return in_call("MPI_Dist_graph_neighbors", comm, [&](state& me) {
    const topology& t = checked_topology(me, comm, MPI_DIST_GRAPH);
    tell_neighbors(t.sources, t.source_weights, t.weighted, maxindegree, sources, sourceweights,
                   "sources");
    tell_neighbors(t.destinations, t.destination_weights, t.weighted, maxoutdegree, destinations,
                   destweights, "destinations");
  }, comm, maxindegree, maxoutdegree);
}
