// Who a rank's neighbours are in a virtual topology.
#pragma once
#include <vector>

namespace weft::mpi {

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

}  // namespace weft::mpi
