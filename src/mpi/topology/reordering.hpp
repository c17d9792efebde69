// Which rank takes which place of a virtual topology, so that neighbours share a worker, else a process, else a node.
#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace weft::mpi {

struct state;
struct communicator_object;

// Who exchanges with whom: a grid, or a graph whose places are 0, 1, ...
struct wanted_neighbors {
  std::vector<int> dims, periods;  // Of a grid; empty: a graph.
  struct edge {
    int from = 0, to = 0, weight = 1;
    bool operator==(const edge&) const = default;
  };
  std::vector<edge> edges;
  bool operator==(const wanted_neighbors&) const = default;
};

// Where a rank is at home: node, process, worker. Those of two ranks that share one are equal up to it.
using rank_home = std::array<int, 3>;

// The place of each rank, by its number. As many ranks as places; each rank that is alone in its worker, process or node keeps its
// place where no other arrangement cuts fewer edges there. The result depends on the arguments alone.
[[nodiscard]] std::vector<int> places_of_ranks(const wanted_neighbors& wanted,
                                               const std::vector<rank_home>& homes);

// Whether ranks of the communicator may get other places than their own; the same on all. Not with the setting "reorder" off,
// and not where it reaches beyond the job: of ranks of other jobs nobody knows where they are at home.
[[nodiscard]] bool may_reorder(const communicator_object& c);

// The place of the calling rank among the first `size` of the communicator, which it is one of; its own where may_reorder() is false. Nobody communicates; all ranks that
// pass equal neighbours get places that fit together.
[[nodiscard]] int new_place(const state& me, const communicator_object& c, int size,
                            const wanted_neighbors& wanted);

}  // namespace weft::mpi
