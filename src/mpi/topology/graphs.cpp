// Graphs that every rank knows whole.
#include <algorithm>
#include <memory>

#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"
#include "mpi/topology/reordering.hpp"
#include "mpi/topology/topology.hpp"

namespace weft::mpi {

using namespace detail;

namespace {

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

// The rank that the caller gets in the graph; MPI_UNDEFINED: none.
int place_in(const state& me, const communicator_object& c, const topology& t, bool reorder) {
  const auto size = static_cast<int>(t.index.size());
  if (c.own >= size) return MPI_UNDEFINED;
  if (!reorder) return c.own;
  wanted_neighbors wanted;
  for (int r = 0; r < size; ++r)
    for (const int other : neighbors_in_graph(t, r)) wanted.edges.push_back({r, other, 1});
  return new_place(me, c, size, wanted);
}

MPI_Comm create_graph(state& me, MPI_Comm comm, int nnodes, const int index[], const int edges[],
                      bool reorder) {
  communicator_object& c = checked_intracommunicator(me, comm);
  const std::shared_ptr<topology> t = checked_graph(c, nnodes, index, edges);
  const int place = place_in(me, c, *t, reorder);
  if (place != MPI_UNDEFINED)
    for (const int r : neighbors_in_graph(*t, place)) {
      t->sources.push_back({r, 0});
      t->destinations.push_back({r, 0});
    }
  return add_with_topology(me, c, place, "MPI_Graph_create", t);
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_Graph_create,
                  (MPI_Comm comm_old, int nnodes, const int index[], const int edges[], int reorder,
                   MPI_Comm* comm_graph)) {
  return in_call(
      "MPI_Graph_create", comm_old,
      [&](state& me) {
        check_not_null(comm_graph, "comm_graph");
        *comm_graph = MPI_COMM_NULL;
        *comm_graph = create_graph(me, comm_old, nnodes, index, edges, reorder != 0);
      },
      comm_old, nnodes, static_cast<const void*>(index), static_cast<const void*>(edges), reorder);
}

WEFT_MPI_FUNCTION(int, MPI_Graphdims_get, (MPI_Comm comm, int* nnodes, int* nedges)) {
  return in_call(
      "MPI_Graphdims_get", comm,
      [&](state& me) {
        check_not_null(nnodes, "nnodes");
        check_not_null(nedges, "nedges");
        const topology& t = checked_topology(me, comm, MPI_GRAPH);
        *nnodes = static_cast<int>(t.index.size());
        *nedges = static_cast<int>(t.edges.size());
      },
      comm);
}

WEFT_MPI_FUNCTION(int, MPI_Graph_get,
                  (MPI_Comm comm, int maxindex, int maxedges, int index[], int edges[])) {
  return in_call(
      "MPI_Graph_get", comm,
      [&](state& me) {
        const topology& t = checked_topology(me, comm, MPI_GRAPH);
        const auto nodes =
            std::min<std::size_t>(t.index.size(), static_cast<std::size_t>(std::max(maxindex, 0)));
        const auto count =
            std::min<std::size_t>(t.edges.size(), static_cast<std::size_t>(std::max(maxedges, 0)));
        if (nodes != 0) check_not_null(index, "index");
        if (count != 0) check_not_null(edges, "edges");
        std::copy_n(t.index.begin(), nodes, index);
        std::copy_n(t.edges.begin(), count, edges);
      },
      comm, maxindex, maxedges);
}

WEFT_MPI_FUNCTION(int, MPI_Graph_neighbors_count, (MPI_Comm comm, int rank, int* nneighbors)) {
  return in_call(
      "MPI_Graph_neighbors_count", comm,
      [&](state& me) {
        check_not_null(nneighbors, "nneighbors");
        const topology& t = checked_topology(me, comm, MPI_GRAPH);
        check_member(checked_communicator(me, comm), rank);
        *nneighbors = static_cast<int>(neighbors_in_graph(t, rank).size());
      },
      comm, rank);
}

WEFT_MPI_FUNCTION(int, MPI_Graph_neighbors,
                  (MPI_Comm comm, int rank, int maxneighbors, int neighbors[])) {
  return in_call(
      "MPI_Graph_neighbors", comm,
      [&](state& me) {
        const topology& t = checked_topology(me, comm, MPI_GRAPH);
        check_member(checked_communicator(me, comm), rank);
        const std::vector<int> all = neighbors_in_graph(t, rank);
        const auto count =
            std::min<std::size_t>(all.size(), static_cast<std::size_t>(std::max(maxneighbors, 0)));
        if (count != 0) check_not_null(neighbors, "neighbors");
        std::copy_n(all.begin(), count, neighbors);
      },
      comm, rank, maxneighbors);
}

WEFT_MPI_FUNCTION(int, MPI_Graph_map,
                  (MPI_Comm comm, int nnodes, const int index[], const int edges[], int* newrank)) {
  return in_call(
      "MPI_Graph_map", comm,
      [&](state& me) {
        check_not_null(newrank, "newrank");
        const communicator_object& c = checked_intracommunicator(me, comm);
        *newrank = place_in(me, c, *checked_graph(c, nnodes, index, edges), true);
      },
      comm, nnodes);
}
