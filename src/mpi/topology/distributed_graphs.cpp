// Graphs of which each rank knows its own neighbours.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>

#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"
#include "mpi/topology/reordering.hpp"
#include "mpi/topology/topology.hpp"

namespace weft::mpi {

using namespace detail;

namespace {

bool are_weights(const int* weights) {
  return weights != MPI_UNWEIGHTED;
}

void check_nodes(const communicator_object& c, const std::vector<int>& ranks, const char* what) {
  for (const int r : ranks)
    if (r < 0 || r >= c.peers_count)
      fail(MPI_ERR_RANK, "{} holds rank {}: {}", what, r, ranks_of(c));
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

// One end of an edge, as the rank `owner` has named it.
struct named_neighbor {
  int owner, rank, weight;
  int is_source;
};

// So many named neighbours at most are gathered by the ranks of a process together, which takes 28 bytes for each: a gigabyte.
constexpr std::uint64_t gathered_neighbors_max = std::uint64_t{1} << 25;

// Whether all ranks may gather all neighbours; the same on all.
bool may_gather(communicator_object& c, std::uint64_t named) {
  std::size_t together = 1;  // Ranks of the largest process.
  for (const subgroup& s : c.shared->subgroups) together = std::max(together, s.members.size());
  return c.ranks.allreduce(named, std::plus<>{}) <= gathered_neighbors_max / together;
}

// Another rank than the caller may get the caller's place, so all ranks gather all neighbours. Returns the caller's place, whose
// neighbours it adds to `t`.
int reorder_adjacent(const state& me, communicator_object& c, topology& t,
                     const std::vector<int>& in, const std::vector<int>& out) {
  std::vector<named_neighbor> mine;
  for (std::size_t i = 0; i < in.size(); ++i)
    mine.push_back({c.own, in[i], t.source_weights.empty() ? 1 : t.source_weights[i], 1});
  for (std::size_t i = 0; i < out.size(); ++i)
    mine.push_back(
        {c.own, out[i], t.destination_weights.empty() ? 1 : t.destination_weights[i], 0});
  const std::vector<named_neighbor> all = c.ranks.allgatherv(mine);
  wanted_neighbors wanted;
  for (const named_neighbor& n : all) wanted.edges.push_back({n.owner, n.rank, n.weight});
  const int place = new_place(me, c, c.peers_count, wanted);
  t.source_weights.clear();
  t.destination_weights.clear();
  for (const named_neighbor& n : all) {
    if (n.owner != place) continue;
    (n.is_source != 0 ? t.sources : t.destinations).push_back({n.rank, 0});
    if (t.weighted)
      (n.is_source != 0 ? t.source_weights : t.destination_weights).push_back(n.weight);
  }
  return place;
}

MPI_Comm create_adjacent(state& me, MPI_Comm comm, int indegree, const int sources[],
                         const int sourceweights[], int outdegree, const int destinations[],
                         const int destweights[], bool reorder) {
  communicator_object& c = checked_intracommunicator(me, comm);
  auto t = std::make_shared<topology>();
  t->kind = MPI_DIST_GRAPH;
  const std::vector<int> in = list_of(indegree, sources, "sources");
  const std::vector<int> out = list_of(outdegree, destinations, "destinations");
  check_nodes(c, in, "sources");
  check_nodes(c, out, "destinations");
  t->weighted = are_weights(sourceweights) && are_weights(destweights);
  t->source_weights = weights_of(indegree, sourceweights, "sourceweights");
  t->destination_weights = weights_of(outdegree, destweights, "destweights");
  int place = c.own;
  if (reorder && may_reorder(c) && may_gather(c, in.size() + out.size())) {
    place = reorder_adjacent(me, c, *t, in, out);
  } else {
    for (const int r : in) t->sources.push_back({r, 0});
    for (const int r : out) t->destinations.push_back({r, 0});
  }
  return add_with_topology(me, c, place, "MPI_Dist_graph_create_adjacent", t);
}

// Each rank names edges between any two ranks. All ranks gather all edges, and keep those that begin or end at them.
MPI_Comm create_distributed(state& me, MPI_Comm comm, int n, const int sources[],
                            const int degrees[], const int destinations[], const int weights[],
                            bool reorder) {
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
  using edge = wanted_neighbors::edge;
  std::vector<edge> mine;
  for (std::size_t i = 0, at = 0; i < from.size(); ++i)
    for (int d = 0; d < degree[i]; ++d, ++at)
      mine.push_back({from[i], to[at], weight.empty() ? 1 : weight[at]});
  auto t = std::make_shared<topology>();
  t->kind = MPI_DIST_GRAPH;
  t->weighted = are_weights(weights);
  wanted_neighbors wanted;
  wanted.edges = c.ranks.allgatherv(mine);
  const int place = reorder ? new_place(me, c, c.peers_count, wanted) : c.own;
  for (const edge& e : wanted.edges) {
    if (e.to == place) {
      t->sources.push_back({e.from, 0});
      t->source_weights.push_back(e.weight);
    }
    if (e.from == place) {
      t->destinations.push_back({e.to, 0});
      t->destination_weights.push_back(e.weight);
    }
  }
  return add_with_topology(me, c, place, "MPI_Dist_graph_create", t);
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

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_Dist_graph_create_adjacent,
                  (MPI_Comm comm_old, int indegree, const int sources[], const int sourceweights[],
                   int outdegree, const int destinations[], const int destweights[], MPI_Info info,
                   int reorder, MPI_Comm* comm_dist_graph)) {
  return in_call(
      "MPI_Dist_graph_create_adjacent", comm_old,
      [&](state& me) {
        check_not_null(comm_dist_graph, "comm_dist_graph");
        *comm_dist_graph = MPI_COMM_NULL;
        check_hints(me, info);
        *comm_dist_graph = create_adjacent(me, comm_old, indegree, sources, sourceweights,
                                           outdegree, destinations, destweights, reorder != 0);
      },
      comm_old, indegree, static_cast<const void*>(sources), outdegree,
      static_cast<const void*>(destinations), info, reorder);
}

WEFT_MPI_FUNCTION(int, MPI_Dist_graph_create,
                  (MPI_Comm comm_old, int n, const int sources[], const int degrees[],
                   const int destinations[], const int weights[], MPI_Info info, int reorder,
                   MPI_Comm* comm_dist_graph)) {
  return in_call(
      "MPI_Dist_graph_create", comm_old,
      [&](state& me) {
        check_not_null(comm_dist_graph, "comm_dist_graph");
        *comm_dist_graph = MPI_COMM_NULL;
        check_hints(me, info);
        *comm_dist_graph = create_distributed(me, comm_old, n, sources, degrees, destinations,
                                              weights, reorder != 0);
      },
      comm_old, n, static_cast<const void*>(sources), static_cast<const void*>(degrees), info,
      reorder);
}

WEFT_MPI_FUNCTION(int, MPI_Dist_graph_neighbors_count,
                  (MPI_Comm comm, int* indegree, int* outdegree, int* weighted)) {
  return in_call(
      "MPI_Dist_graph_neighbors_count", comm,
      [&](state& me) {
        check_not_null(indegree, "indegree");
        check_not_null(outdegree, "outdegree");
        check_not_null(weighted, "weighted");
        const topology& t = checked_topology(me, comm, MPI_DIST_GRAPH);
        *indegree = static_cast<int>(t.sources.size());
        *outdegree = static_cast<int>(t.destinations.size());
        *weighted = t.weighted;
      },
      comm);
}

WEFT_MPI_FUNCTION(int, MPI_Dist_graph_neighbors,
                  (MPI_Comm comm, int maxindegree, int sources[], int sourceweights[],
                   int maxoutdegree, int destinations[], int destweights[])) {
  return in_call(
      "MPI_Dist_graph_neighbors", comm,
      [&](state& me) {
        const topology& t = checked_topology(me, comm, MPI_DIST_GRAPH);
        tell_neighbors(t.sources, t.source_weights, t.weighted, maxindegree, sources, sourceweights,
                       "sources");
        tell_neighbors(t.destinations, t.destination_weights, t.weighted, maxoutdegree,
                       destinations, destweights, "destinations");
      },
      comm, maxindegree, maxoutdegree);
}
