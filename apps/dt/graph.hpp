// The graphs of NAS DT: which node sends its stream to which. Without weft, since the MPI form of the program includes it.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {

enum class graph_kind { black_hole, white_hole, shuffle };

struct kind_name {
  graph_kind kind;
  const char *letters, *words;
};
inline constexpr std::array<kind_name, 3> kind_names{{{graph_kind::black_hole, "bh", "black hole"},
                                                      {graph_kind::white_hole, "wh", "white hole"},
                                                      {graph_kind::shuffle, "sh", "shuffle"}}};

[[nodiscard]] inline std::optional<graph_kind> kind_of(std::string_view letters) {
  for (const kind_name& one : kind_names)
    if (letters == one.letters) return one.kind;
  return std::nullopt;
}
[[nodiscard]] inline const char* name_of(graph_kind kind) {
  return kind_names[static_cast<std::size_t>(kind)].words;
}

// How large a graph is, and the streams in it: `width` nodes in its widest layer, and about `samples` values in a stream.
struct graph_class {
  char letter;
  int width;
  std::size_t samples, deviation;
};
inline constexpr std::array<graph_class, 4> graph_classes{{{'S', 4, 1728, 128},
                                                           {'W', 8, 13'824, 256},
                                                           {'A', 16, 110'592, 512},
                                                           {'B', 32, 884'736, 1024}}};

[[nodiscard]] inline const graph_class* class_of(std::string_view letter) {
  for (const graph_class& one : graph_classes)
    if (letter.size() == 1 && letter[0] == one.letter) return &one;
  return nullptr;
}

// Nodes are numbered layer by layer, the sources first. A node sends to nodes of the next layer only.
struct graph {
  struct node {
    int layer = 0, place = 0;  // `place` counts within the layer.
    std::vector<int> from, to;
  };
  std::vector<node> nodes;
  std::vector<int> layers;  // How many nodes each has.

  [[nodiscard]] int size() const { return static_cast<int>(nodes.size()); }
  [[nodiscard]] const node& operator[](int number) const {
    return nodes[static_cast<std::size_t>(number)];
  }
  [[nodiscard]] bool is_source(int number) const { return (*this)[number].from.empty(); }
  [[nodiscard]] bool is_sink(int number) const { return (*this)[number].to.empty(); }

  // On how many ways a stream of each node comes to sinks: what the sum of its values counts there.
  [[nodiscard]] std::vector<double> ways_to_sinks() const {
    std::vector<double> ways(nodes.size(), 1);
    for (int number = size(); number-- > 0;)
      if (!is_sink(number)) {
        double& mine = ways[static_cast<std::size_t>(number)] = 0;
        for (const int next : (*this)[number].to) mine += ways[static_cast<std::size_t>(next)];
      }
    return ways;
  }
};

// Black hole: four nodes send to one, until one is left. White hole: the same, the other way. Shuffle: layers of one width, each
// the perfect shuffle of the one before, until every sink has heard of every source. `width` is a power of two.
[[nodiscard]] inline graph make_graph(graph_kind kind, int width) {
  constexpr int fan = 4;
  graph g;
  g.layers.push_back(width);
  if (kind == graph_kind::shuffle)
    for (int heard = 1; heard < width; heard *= 2) g.layers.push_back(width);
  else
    while (g.layers.back() > 1) g.layers.push_back((g.layers.back() + fan - 1) / fan);
  if (kind == graph_kind::white_hole) std::ranges::reverse(g.layers);

  std::vector<int> first;  // Of each layer.
  for (std::size_t layer = 0; layer < g.layers.size(); ++layer) {
    first.push_back(g.size());
    for (int place = 0; place < g.layers[layer]; ++place)
      g.nodes.push_back({static_cast<int>(layer), place, {}, {}});
  }
  const auto link = [&](int from, int to) {
    g.nodes[static_cast<std::size_t>(from)].to.push_back(to);
    g.nodes[static_cast<std::size_t>(to)].from.push_back(from);
  };
  for (std::size_t layer = 0; layer + 1 < g.layers.size(); ++layer) {
    const int here = g.layers[layer], next = g.layers[layer + 1];
    for (int place = 0; place < std::max(here, next); ++place)
      if (kind == graph_kind::shuffle) {
        link(first[layer] + place, first[layer + 1] + 2 * place % next);
        link(first[layer] + place, first[layer + 1] + (2 * place + 1) % next);
      } else {
        link(first[layer] + std::min(place / (here < next ? fan : 1), here - 1),
             first[layer + 1] + std::min(place / (here > next ? fan : 1), next - 1));
      }
  }
  return g;
}

}  // namespace dt
