// Who a rank's neighbours are in a virtual topology.
#pragma once
#include <memory>
#include <vector>

#include "mpi/mpi.h"

namespace weft::mpi {

struct state;
struct communicator_object;

// One of those that a rank sends to, or receives from, in neighbourhood collectives. `tag` keeps the
// directions of a Cartesian dimension apart, where both lead to the same rank.
struct neighbor {
  int rank = 0;  // MPI_PROC_NULL: beyond an edge.
  int tag = 0;
};

struct topology {
  int kind = 0;  // MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH.
  std::vector<neighbor> sources;
  std::vector<neighbor> destinations;

  std::vector<int> dims, periods;  // Of a Cartesian one.
  std::vector<int> index, edges;   // Of a graph, as it was given: of all ranks.
  bool weighted = false;           // Of a distributed graph.
  std::vector<int> source_weights, destination_weights;
};

// That of a communicator, which must be of this kind: throws `failure`.
[[nodiscard]] const topology& checked_topology(state& me, MPI_Comm comm, int kind);
void check_member(const communicator_object& c, int rank);
// The members of `parent` in a communicator of their own; MPI_COMM_NULL for the others.
[[nodiscard]] MPI_Comm add_with_topology(state& me, communicator_object& parent, bool member,
                                         const char* call, const std::shared_ptr<topology>& made);

}  // namespace weft::mpi
