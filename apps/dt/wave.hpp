// One wave through a graph: what a node does from its first message to its last. `Peers` sends and receives, `Loops` runs loops; weft
// and MPI have theirs. Without weft, since the MPI form of the program includes it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dt/stream.hpp"
#include "front/plain_loops.hpp"

namespace dt {

struct wave_plan {
  graph nodes;
  std::vector<std::size_t> lengths;  // Of the stream of each node.
  std::vector<double> ways;          // See graph::ways_to_sinks().
  std::uint64_t seed = 1;
  graph_class size{};
};

[[nodiscard]] inline wave_plan make_plan(graph_kind kind, const graph_class& size,
                                         std::uint64_t seed) {
  wave_plan p{make_graph(kind, size.width), {}, {}, seed, size};
  p.lengths = lengths_of(p.nodes, size, seed);
  p.ways = p.nodes.ways_to_sinks();
  return p;
}

enum class activity : std::uint8_t { waiting, generating, adding, averaging, digesting };

// What the nodes of a wave tell, added up over all: the checksum, and sums that must agree.
struct wave_result {
  std::uint64_t checksum = 0;  // Of the sinks' streams.
  double sent = 0;             // Sum of the sources' values, each as often as it comes to a sink.
  double arrived = 0;          // Sum of the sinks' values.
};

// Values in a chunk: 5 to 20 µs of work, whole cache lines.
inline constexpr std::size_t generate_grain = 512, average_grain = 1024, light_grain = 8192;

// Called by the rank of that node. `log(activity)` is told what the node does from now on. Peers: receive(span<double>, from),
// send(span<const double>, span<const int> to), which returns when all have it. Loops: for_ranges(count, grain, body(begin, end)),
// and sum_over_ranges<T>, the same with the sum of what body returns in the order of the ranges.
template <class Peers, class Loops, class Log>
[[nodiscard]] wave_result run_node(const wave_plan& plan, int node, Peers& peers,
                                   const Loops& loops, Log&& log) {
  const graph::node& self = plan.nodes[node];
  const std::size_t length = plan.lengths[static_cast<std::size_t>(node)];
  wave_result result;
  const auto told = [&](std::span<const double> values) {
    log(activity::digesting);
    const std::uint64_t key = key_of(~plan.seed, node);
    return loops.template sum_over_ranges<digest>(
        length, light_grain,
        [&](std::size_t begin, std::size_t end) { return digest_of(values, key, begin, end); });
  };

  stream out(length);
  if (plan.nodes.is_source(node)) {
    log(activity::generating);
    const std::uint64_t key = key_of(plan.seed, node);
    loops.for_ranges(length, generate_grain, [&](std::size_t begin, std::size_t end) {
      generate(out.values(), key, begin, end);
    });
    result.sent = plan.ways[static_cast<std::size_t>(node)] * told(out.values()).sum;
  } else {
    std::vector<stream> in;
    log(activity::waiting);
    for (const int from : self.from) {
      in.emplace_back(plan.lengths[static_cast<std::size_t>(from)]);
      peers.receive(in.back().values(), from);
    }
    stream sum(length);
    log(activity::adding);
    loops.for_ranges(length, light_grain, [&](std::size_t begin, std::size_t end) {
      add(sum.values(), in, begin, end);
    });
    in.clear();
    if (plan.nodes.is_sink(node)) {
      const digest d = told(sum.values());
      result.checksum = d.hash;
      result.arrived = d.sum;
    } else {
      log(activity::averaging);
      loops.for_ranges(length, average_grain, [&](std::size_t begin, std::size_t end) {
        average(out.values(), sum.values(), reach_of(node), begin, end);
      });
    }
  }
  log(activity::waiting);
  if (!plan.nodes.is_sink(node)) peers.send(std::as_const(out).values(), self.to);
  return result;
}

// How far the sums of sources and sinks may be apart, of themselves: rounding of some million additions.
inline constexpr double sum_tolerance = 1e-12;

// The checksum of seed 1, the same for every number of processes, workers and libraries, with and without tasks. Nothing: not one
// of the classes.
[[nodiscard]] inline std::optional<std::uint64_t> known_checksum(graph_kind kind, char letter,
                                                                 std::uint64_t seed) {
  struct row {
    graph_kind kind;
    char letter;
    std::uint64_t checksum;
  };
  static constexpr row rows[] = {
      {graph_kind::black_hole, 'S', 0xbc2b1a207fb89ff3},
      {graph_kind::black_hole, 'W', 0x6ed3e184018f8a33},
      {graph_kind::black_hole, 'A', 0x191b83cda57904c3},
      {graph_kind::black_hole, 'B', 0xaaadfc5fe9291aad},
      {graph_kind::white_hole, 'S', 0xd6cfc64a1a7b1558},
      {graph_kind::white_hole, 'W', 0x5c17b39fcb23507d},
      {graph_kind::white_hole, 'A', 0x62b719be7207462a},
      {graph_kind::white_hole, 'B', 0xa355328bf9c431cf},
      {graph_kind::shuffle, 'S', 0x065eefe8aea99242},
      {graph_kind::shuffle, 'W', 0xc0a910fb89fdda8e},
      {graph_kind::shuffle, 'A', 0x35b55483e15e1279},
      {graph_kind::shuffle, 'B', 0xc20a31ab14aab1f5},
  };
  if (seed != 1) return std::nullopt;
  for (const row& one : rows)
    if (one.kind == kind && one.letter == letter) return one.checksum;
  return std::nullopt;
}

// The same graph by one caller without ranks, node after node.
[[nodiscard]] inline wave_result run_serially(const wave_plan& plan) {
  struct serial_peers {
    std::vector<stream> sent;  // By node.
    int node = 0;
    void receive(std::span<double> into, int from) {
      std::ranges::copy(sent[static_cast<std::size_t>(from)].values(), into.begin());
    }
    void send(std::span<const double> values, std::span<const int>) {
      stream kept(values.size());
      std::ranges::copy(values, kept.values().begin());
      sent[static_cast<std::size_t>(node)] = std::move(kept);
    }
  };
  serial_peers peers;
  peers.sent.resize(plan.nodes.nodes.size());
  wave_result all;
  for (int node = 0; node < plan.nodes.size(); ++node) {
    peers.node = node;
    const wave_result one = run_node(plan, node, peers, front::plain_loops{}, [](activity) {});
    all = {all.checksum + one.checksum, all.sent + one.sent, all.arrived + one.arrived};
  }
  return all;
}

}  // namespace dt
