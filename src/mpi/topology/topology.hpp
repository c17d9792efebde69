// A rank's neighbours in a virtual topology.
#pragma once
#include <memory>
#include <vector>

#include "mpi/mpi.h"

namespace weft::mpi {

struct state;
struct communicator_object;

// A rank that this rank sends to, or receives from, in neighbourhood collectives. `tag` keeps the two directions of a
// Cartesian dimension apart when both lead to the same rank.
struct neighbor {
  int rank = 0;  // MPI_PROC_NULL: beyond an edge.
  int tag = 0;
};

struct topology {
  int kind = 0;  // MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH.
  std::vector<neighbor> sources;
  std::vector<neighbor> destinations;

  std::vector<int> dims, periods;  // For MPI_CART.
  std::vector<int> index, edges;   // For MPI_GRAPH: the program's arrays, of all ranks.
  bool weighted = false;           // For MPI_DIST_GRAPH.
  std::vector<int> source_weights, destination_weights;
};

// The topology of a communicator; throws `failure` when it is not of this kind.
[[nodiscard]] const topology& checked_topology(state& me, MPI_Comm comm, int kind);
void check_member(const communicator_object& c, int rank);
// Makes a communicator of the ranks of `parent` that have a place, in the order of their places, with the topology `made`;
// MPI_COMM_NULL for the others, which pass MPI_UNDEFINED.
[[nodiscard]] MPI_Comm add_with_topology(state& me, communicator_object& parent, int place,
                                         const char* call, const std::shared_ptr<topology>& made);

}  // namespace weft::mpi
