// Networks that SimGrid simulates. One of them for a process: SimGrid knows a single time.
#pragma once
#include <memory>
#include <string>

#include "breakdown/machine.hpp"
#include "breakdown/simulation.hpp"

namespace weft {

struct topology {
  std::string kind = "fat-tree";  // Or dragonfly.
  double latency_ns =
      0;  // From a node to another one of its switch: two links, each with half of it.
  double bytes_per_ns = 12.5;  // Of a link.
};

[[nodiscard]] bool has_simgrid() noexcept;
// Throws weft::error when this weft was built without SimGrid.
[[nodiscard]] std::unique_ptr<breakdown::network> make_simgrid_network(const topology& t,
                                                                       int nodes);
// The same prediction by an actor for each rank, as simulators mostly do: to check the other.
[[nodiscard]] breakdown::simulated simulate_with_actors(const breakdown::pattern& p,
                                                        const breakdown::extrapolation& how,
                                                        const breakdown::machine& m,
                                                        const topology& t);
// "fat-tree of 32 x 32 nodes"
[[nodiscard]] std::string described(const topology& t, int nodes);

}  // namespace weft
