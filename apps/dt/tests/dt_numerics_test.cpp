// Graphs and streams of weft-dt, without ranks.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "dt/wave.hpp"

namespace dt {
namespace {

TEST(dt_graph, has_as_many_nodes_as_the_nas_classes) {
  const int holes[] = {5, 11, 21, 43}, shuffles[] = {12, 32, 80, 192};
  for (std::size_t c = 0; c < graph_classes.size(); ++c) {
    EXPECT_EQ(make_graph(graph_kind::black_hole, graph_classes[c].width).size(), holes[c]);
    EXPECT_EQ(make_graph(graph_kind::white_hole, graph_classes[c].width).size(), holes[c]);
    EXPECT_EQ(make_graph(graph_kind::shuffle, graph_classes[c].width).size(), shuffles[c]);
  }
}

TEST(dt_graph, links_layers_that_follow_each_other_and_both_ends_know_it) {
  for (const kind_name& kind : kind_names)
    for (const int width : {4, 8, 32}) {
      const graph g = make_graph(kind.kind, width);
      for (int node = 0; node < g.size(); ++node) {
        EXPECT_FALSE(g[node].from.empty() && g[node].to.empty()) << kind.words << ' ' << node;
        EXPECT_EQ(g.is_source(node), g[node].layer == 0);
        EXPECT_EQ(g.is_sink(node), g[node].layer + 1 == static_cast<int>(g.layers.size()));
        for (const int to : g[node].to) {
          EXPECT_EQ(g[to].layer, g[node].layer + 1);
          EXPECT_EQ(std::ranges::count(g[to].from, node), std::ranges::count(g[node].to, to));
        }
      }
    }
}

// The sources that a node has heard of.
std::set<int> heard(const graph& g, int node) {
  if (g.is_source(node)) return {node};
  std::set<int> all;
  for (const int from : g[node].from) all.merge(heard(g, from));
  return all;
}

TEST(dt_graph, sinks_hear_of_every_source) {
  for (const kind_name& kind : kind_names) {
    const graph g = make_graph(kind.kind, 16);
    for (int node = 0; node < g.size(); ++node)
      if (g.is_sink(node)) {
        EXPECT_EQ(heard(g, node).size(), static_cast<std::size_t>(g.layers[0])) << kind.words;
      }
  }
}

TEST(dt_graph, ways_to_sinks_are_counted) {
  EXPECT_EQ(make_graph(graph_kind::shuffle, 16).ways_to_sinks()[3], 16);
  EXPECT_EQ(make_graph(graph_kind::white_hole, 32).ways_to_sinks()[0], 32);
  EXPECT_EQ(make_graph(graph_kind::black_hole, 32).ways_to_sinks()[7], 1);
}

TEST(dt_stream, samples_are_nearly_normal) {
  constexpr std::size_t count = 100'000;
  stream s(count);
  generate(s.values(), key_of(1, 2), 0, count);
  double mean = 0, squares = 0;
  for (const double x : s.values()) {
    ASSERT_GE(x, 0);
    mean += x / count;
    squares += (x - 6) * (x - 6) / count;
  }
  EXPECT_NEAR(mean, 6, 0.02);
  EXPECT_NEAR(squares, 1, 0.02);
}

TEST(dt_stream, lengths_lie_round_the_samples_of_the_class_and_inner_nodes_have_the_longest) {
  const graph_class& size = *class_of("A");
  const graph g = make_graph(graph_kind::black_hole, size.width);
  const auto lengths = lengths_of(g, size, 1);
  for (int node = 0; node < size.width; ++node)
    EXPECT_LT(std::abs(static_cast<double>(lengths[static_cast<std::size_t>(node)]) - 110'592.0),
              6 * 512.0);
  EXPECT_EQ(lengths.back(), *std::max_element(lengths.begin(), lengths.end()));
  EXPECT_NE(lengths_of(g, size, 2), lengths);
}

TEST(dt_stream, shorter_streams_end_with_zeros_in_a_sum) {
  std::vector<stream> in;
  for (const std::size_t size : {3u, 5u, 2u}) {
    in.emplace_back(size);
    std::ranges::fill(in.back().values(), static_cast<double>(size));
  }
  for (const std::size_t border : {0u, 1u, 3u, 4u, 5u}) {  // In two parts.
    stream out(5);
    add(out.values(), in, 0, border);
    add(out.values(), in, border, 5);
    const std::vector<double> got(out.values().begin(), out.values().end());
    EXPECT_EQ(got, (std::vector<double>{10, 10, 8, 5, 5})) << border;
  }
}

TEST(dt_stream, averages_over_a_ring_in_any_parts_with_the_same_bits) {
  for (const std::size_t size : {40u, 100u, 333u}) {
    constexpr std::size_t reach = 17;
    stream in(size), whole(size), parts(size);
    generate(in.values(), 5, 0, size);
    average(whole.values(), in.values(), reach, 0, size);
    for (std::size_t begin = 0; begin < size; begin += 7)
      average(parts.values(), in.values(), reach, begin, std::min(size, begin + 7));
    for (std::size_t i = 0; i < size; ++i) {
      double sum = 0;
      for (std::size_t k = 0; k <= 2 * reach; ++k)
        sum += in.values()[(i + size - reach + k) % size];
      EXPECT_EQ(whole.values()[i], sum * (1.0 / (2 * reach + 1))) << size << ' ' << i;
      EXPECT_EQ(parts.values()[i], whole.values()[i]) << size << ' ' << i;
    }
  }
}

TEST(dt_stream,
     a_digest_is_that_of_its_parts_and_tells_of_one_bit_and_of_values_that_changed_places) {
  stream s(100);
  generate(s.values(), 9, 0, 100);
  const digest whole = digest_of(s.values(), 3, 0, 100);
  const digest two = digest_of(s.values(), 3, 0, 31) + digest_of(s.values(), 3, 31, 100);
  EXPECT_EQ(whole.hash, two.hash);
  EXPECT_NEAR(whole.sum, two.sum, 1e-12);
  std::swap(s.values()[4], s.values()[5]);
  EXPECT_NE(digest_of(s.values(), 3, 0, 100).hash, whole.hash);
  std::swap(s.values()[4], s.values()[5]);
  s.values()[77] = std::nextafter(s.values()[77], 100);
  EXPECT_NE(digest_of(s.values(), 3, 0, 100).hash, whole.hash);
}

TEST(dt_wave, sums_of_sources_arrive_and_known_checksums_are_those_of_one_caller) {
  for (const kind_name& kind : kind_names)
    for (const char* letter : {"S", "W"}) {
      const wave_result all = run_serially(make_plan(kind.kind, *class_of(letter), 1));
      EXPECT_LT(std::abs(all.arrived - all.sent), sum_tolerance * all.sent) << kind.words;
      EXPECT_EQ(all.checksum, known_checksum(kind.kind, letter[0], 1)) << kind.words << letter;
    }
  EXPECT_NE(run_serially(make_plan(graph_kind::shuffle, graph_classes[0], 2)).checksum,
            known_checksum(graph_kind::shuffle, 'S', 1));
  EXPECT_FALSE(known_checksum(graph_kind::shuffle, 'S', 2));
}

}  // namespace
}  // namespace dt
