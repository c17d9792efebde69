// Runs the steps of a pattern on a machine that is not here: when does which rank do what.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "breakdown/extrapolation.hpp"
#include "breakdown/machine.hpp"
#include "breakdown/pattern.hpp"

namespace weft::breakdown {

struct simulation_request {
  // Computation takes so many times what it took, messages have so many times their bytes: less when a
  // problem is shared by more ranks.
  double computation = 1;
  double message_bytes = 1;
  // The simulation calls it now and then with how many ranks have come to their end.
  std::function<void(int)> progress;
};

struct simulated {
  double ns = 0;         // Until the last rank ended.
  double computing = 0;  // The sum over all ranks.
  std::uint64_t messages = 0, between_nodes = 0;
  std::uint64_t without_partner = 0;  // Waits for messages that nobody sends.
};

[[nodiscard]] simulated simulate(const pattern& p, const extrapolation& how, const machine& m,
                                 network& net, const simulation_request& request = {});

// How a collective of weft goes on between nodes: in how many rounds, in each with how many bytes.
[[nodiscard]] int rounds_between(int nodes) noexcept;
[[nodiscard]] std::uint64_t bytes_of_round(std::string_view call, std::uint64_t bytes,
                                           int ranks_per_node, int nodes, int round) noexcept;
// What the meeting of the ranks of a node takes, to gather or to hand on.
[[nodiscard]] double meeting_ns(const machine& m, int ranks, std::uint64_t bytes) noexcept;

// The pattern of collectives alone: `repeat` of them, one after the other. Throws weft::error that lists the
// names when there is none of that name.
[[nodiscard]] pattern pattern_of_collective(const std::string& name, std::uint64_t bytes,
                                            int repeat);

}  // namespace weft::breakdown
