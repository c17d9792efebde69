// Which ranks share a worker, by what they compute and send.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/rank_map.hpp"
#include "breakdown/mapping.hpp"
#include "weft/error.hpp"

namespace weft::breakdown {
namespace {

// Ranks that compute for so many seconds each.
summary ranks_of(const std::vector<double>& seconds) {
  summary s;
  s.program = "program";
  s.ranks = s.seen = static_cast<int>(seconds.size());
  for (const double each : seconds) {
    rank_summary one;
    one.rank = static_cast<int>(s.by_rank.size());
    one.has_run = true;
    one.share_seconds[static_cast<std::size_t>(profile::share::computing)] = each;
    s.by_rank.push_back(one);
  }
  return s;
}

TEST(a_map_by_communication, puts_ranks_together_that_send_to_each_other) {
  summary s = ranks_of(std::vector<double>(8, 1.0));
  for (int rank = 0; rank < 8; ++rank)
    s.exchanges.push_back({rank, (rank + 2) % 8, 1000, 1 << 20, 0});
  const mapping m = map_by_communication(s, 2);
  for (int rank = 0; rank < 8; ++rank)
    EXPECT_EQ(m.worker_of[static_cast<std::size_t>(rank)] == m.worker_of[0], rank % 2 == 0) << rank;
  EXPECT_EQ(m.quality.messages, 0);
  EXPECT_EQ(m.of_blocks.messages, 4000);
}

// As in a tree: those that combine are neighbours and compute most.
TEST(a_map_by_communication, spreads_what_ranks_compute) {
  const mapping m = map_by_communication(ranks_of({1, 1, 1, 1, 9, 9, 1, 1}), 2);
  EXPECT_NE(m.worker_of[4], m.worker_of[5]);
  EXPECT_DOUBLE_EQ(m.quality.most_seconds, 12);
  EXPECT_DOUBLE_EQ(m.of_blocks.most_seconds, 20);
}

TEST(a_map_by_communication, does_not_pay_for_nearness_with_idle_cores) {
  summary s = ranks_of({5, 5, 1, 1});
  s.exchanges.push_back({0, 1, 1000, 1000, 0});
  const mapping m = map_by_communication(s, 2);
  EXPECT_NE(m.worker_of[0], m.worker_of[1]);
}

// A grid whose rows are long: neighbours in a column are far apart in the order of ranks. Each rank sends to four.
summary grid_of(int rows, int columns) {
  const int ranks = rows * columns;
  summary s = ranks_of(std::vector<double>(static_cast<std::size_t>(ranks), 1e-3));
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank % columns + 1 < columns) s.exchanges.push_back({rank, rank + 1, 10, 1000, 0});
    if (rank + columns < ranks) s.exchanges.push_back({rank, rank + columns, 1000, 1 << 20, 0});
  }
  return s;
}

TEST(a_map_by_communication, of_many_ranks_tries_a_bounded_number_of_pairs) {
  const summary s = grid_of(20, 100);
  for (const int workers : {2, 20}) {
    const mapping m = map_by_communication(s, workers);
    // All pairs once would be two millions.
    EXPECT_LT(m.pairs_tried, 2'000u * 8 * 48 * 40) << workers;
    EXPECT_LT(m.quality.bytes, m.of_blocks.bytes / 2) << workers;
    EXPECT_LT(m.quality.most_seconds, m.of_blocks.most_seconds * 1.01) << workers;
  }
}

TEST(a_map_by_communication, is_a_file_that_says_the_same) {
  summary s = ranks_of({3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5});
  for (int rank = 0; rank < 11; ++rank)
    s.exchanges.push_back(
        {rank, rank * 7 % 11, static_cast<std::uint64_t>(rank) * 100, 1 << 16, 0});
  const std::string path = std::filesystem::temp_directory_path() / "weft-breakdown-map-test";
  for (int workers = 1; workers <= 11; ++workers) {
    const mapping m = map_by_communication(s, workers);
    std::ofstream(path) << text_of(m, s);
    EXPECT_EQ(map_ranks(path, 11, workers), m.worker_of) << text_of(m, s);
  }
  std::filesystem::remove(path);
}

TEST(a_map_by_communication, is_of_all_ranks) {
  summary s = ranks_of({1, 1});
  EXPECT_THROW((void)map_by_communication(s, 3), error);
  EXPECT_THROW((void)map_by_communication(s, 0), error);
  s.seen = 1;
  EXPECT_THROW((void)map_by_communication(s, 2), error);
}

}  // namespace
}  // namespace weft::breakdown
