// Places of virtual topologies for ranks that share workers, processes and nodes: how much of the neighbours' traffic leaves them.
#include "mpi/topology/reordering.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace weft::mpi {
namespace {

// `ranks` that follow one another share a worker, so many workers a process, so many processes a node.
std::vector<rank_home> homes_of(int ranks, int in_worker, int workers = 1000,
                                int processes = 1000) {
  std::vector<rank_home> homes;
  for (int r = 0; r < ranks; ++r) {
    const int worker = r / in_worker, process = worker / workers;
    homes.push_back({process / processes, process, worker % workers});
  }
  return homes;
}

bool is_permutation_of_all(std::vector<int> places) {
  std::ranges::sort(places);
  for (std::size_t p = 0; p < places.size(); ++p)
    if (places[p] != static_cast<int>(p)) return false;
  return true;
}

std::vector<int> identity(std::size_t count) {
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Edges between homes that differ in the first `levels` numbers.
int edges_cut(const std::vector<wanted_neighbors::edge>& edges, const std::vector<int>& place_of,
              const std::vector<rank_home>& homes, std::size_t levels) {
  std::vector<std::size_t> rank_at(place_of.size());
  for (std::size_t r = 0; r < place_of.size(); ++r)
    rank_at[static_cast<std::size_t>(place_of[r])] = r;
  return static_cast<int>(std::ranges::count_if(edges, [&](const auto& e) {
    const rank_home& from = homes[rank_at[static_cast<std::size_t>(e.from)]];
    const rank_home& to = homes[rank_at[static_cast<std::size_t>(e.to)]];
    return !std::equal(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(levels),
                       to.begin());
  }));
}

std::vector<wanted_neighbors::edge> edges_of(int rows, int columns) {
  std::vector<wanted_neighbors::edge> edges;
  for (int p = 0; p < rows * columns; ++p) {
    if (p % columns + 1 < columns) edges.push_back({p, p + 1, 1});
    if (p + columns < rows * columns) edges.push_back({p, p + columns, 1});
  }
  return edges;
}

TEST(mpi_reordering, a_worker_has_a_block_of_the_grid) {
  const std::vector<rank_home> homes = homes_of(64, 16);
  const std::vector<int> places = places_of_ranks({{8, 8}, {0, 0}, {}}, homes);
  ASSERT_TRUE(is_permutation_of_all(places));
  // Two rows each, or a quarter each.
  EXPECT_EQ(edges_cut(edges_of(8, 8), identity(64), homes, 3), 24);
  EXPECT_EQ(edges_cut(edges_of(8, 8), places, homes, 3), 16);
}

TEST(mpi_reordering, a_node_has_a_block_of_which_its_processes_and_workers_have_blocks) {
  const std::vector<rank_home> homes = homes_of(256, 4, 4, 4);  // 4 nodes of 4 x 4 x 4 ranks.
  const std::vector<int> places = places_of_ranks({{16, 16}, {0, 0}, {}}, homes);
  ASSERT_TRUE(is_permutation_of_all(places));
  const auto edges = edges_of(16, 16);
  EXPECT_EQ(edges_cut(edges, identity(256), homes, 1), 48);
  EXPECT_EQ(edges_cut(edges, places, homes, 1), 32);
  EXPECT_EQ(edges_cut(edges, identity(256), homes, 2), 240);
  EXPECT_EQ(edges_cut(edges, places, homes, 2), 96);
  EXPECT_EQ(edges_cut(edges, places, homes, 3), 224);
}

TEST(mpi_reordering, ranks_stay_where_nothing_is_gained) {
  EXPECT_EQ(places_of_ranks({{64}, {0}, {}}, homes_of(64, 16)), identity(64));
  EXPECT_EQ(places_of_ranks({{8, 8}, {1, 1}, {}}, homes_of(64, 64)), identity(64));
  EXPECT_EQ(places_of_ranks({{8, 8}, {0, 0}, {}}, homes_of(64, 1)), identity(64));
  EXPECT_EQ(places_of_ranks({{}, {}, {}}, homes_of(1, 1)), identity(1));
}

TEST(mpi_reordering, a_grid_without_equal_blocks_is_divided_too) {
  const std::vector<rank_home> homes = homes_of(35, 9);  // 9, 9, 9 and 8.
  const std::vector<int> places = places_of_ranks({{5, 7}, {0, 0}, {}}, homes);
  ASSERT_TRUE(is_permutation_of_all(places));
  EXPECT_LT(edges_cut(edges_of(5, 7), places, homes, 3),
            edges_cut(edges_of(5, 7), identity(35), homes, 3));
}

// Four groups in which all know all, dealt out one by one, and a ring through all.
TEST(mpi_reordering, groups_of_a_graph_come_together) {
  wanted_neighbors wanted;
  for (int p = 0; p < 32; ++p) {
    for (int q = p + 4; q < 32; q += 4) wanted.edges.push_back({p, q, 1});
    wanted.edges.push_back({p, (p + 1) % 32, 0});
  }
  const std::vector<rank_home> homes = homes_of(32, 8);
  const std::vector<int> places = places_of_ranks(wanted, homes);
  ASSERT_TRUE(is_permutation_of_all(places));
  std::vector<wanted_neighbors::edge> heavy = wanted.edges;
  std::erase_if(heavy, [](const auto& e) { return e.weight == 0; });
  EXPECT_EQ(edges_cut(heavy, identity(32), homes, 3), 96);
  EXPECT_EQ(edges_cut(heavy, places, homes, 3), 0);
}

TEST(mpi_reordering, heavy_edges_are_kept_rather_than_many) {
  // A path whose every second edge is heavy: pairs must not be parted.
  wanted_neighbors wanted;
  for (int p = 0; p < 11; ++p) wanted.edges.push_back({p, p + 1, p % 2 == 1 ? 100 : 1});
  const std::vector<rank_home> homes = homes_of(12, 4);
  const std::vector<int> places = places_of_ranks(wanted, homes);
  ASSERT_TRUE(is_permutation_of_all(places));
  std::vector<wanted_neighbors::edge> heavy = wanted.edges;
  std::erase_if(heavy, [](const auto& e) { return e.weight == 1; });
  EXPECT_EQ(edges_cut(heavy, identity(12), homes, 3), 2);
  EXPECT_EQ(edges_cut(heavy, places, homes, 3), 0);
}

TEST(mpi_reordering, ten_thousand_ranks_are_placed_at_once) {
  const std::vector<rank_home> homes = homes_of(10'000, 25, 4, 10);
  EXPECT_TRUE(is_permutation_of_all(places_of_ranks({{100, 100}, {1, 1}, {}}, homes)));
  wanted_neighbors ring;
  for (int p = 0; p < 10'000; ++p) ring.edges.push_back({p, p * 7 % 10'000, 1});
  EXPECT_TRUE(is_permutation_of_all(places_of_ranks(ring, homes)));
}

}  // namespace
}  // namespace weft::mpi
