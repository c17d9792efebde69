// The task graphs of bench/metg against the definitions of Task Bench, written out for small widths.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "../../bench/metg/graph.hpp"

namespace metg {
namespace {

using columns = std::vector<int>;

columns inputs_of(const std::string& pattern, int width, int radix, long step, int column) {
  const graph g(pattern, width, radix);
  return g.inputs(g.phase_of(step), column);
}

// The inputs of all columns of a step.
std::vector<columns> inputs_of(const std::string& pattern, int width, int radix, long step) {
  std::vector<columns> all;
  for (int c = 0; c < width; ++c) all.push_back(inputs_of(pattern, width, radix, step, c));
  return all;
}

using table = std::vector<columns>;

TEST(metg_graph, trivial_and_no_comm_read_nothing_and_themselves) {
  EXPECT_EQ(inputs_of("trivial", 3, 3, 5), (table{{}, {}, {}}));
  EXPECT_EQ(inputs_of("no_comm", 3, 3, 5), (table{{0}, {1}, {2}}));
}

TEST(metg_graph, stencils_read_themselves_and_their_neighbours) {
  EXPECT_EQ(inputs_of("stencil_1d", 4, 3, 1), (table{{0, 1}, {0, 1, 2}, {1, 2, 3}, {2, 3}}));
  EXPECT_EQ(inputs_of("stencil_1d_periodic", 4, 3, 1),
            (table{{0, 1, 3}, {0, 1, 2}, {1, 2, 3}, {0, 2, 3}}));
  EXPECT_EQ(inputs_of("stencil_1d", 1, 3, 1), (table{{0}}));
  EXPECT_EQ(inputs_of("stencil_1d_periodic", 2, 3, 1), (table{{0, 1}, {0, 1}}));
}

TEST(metg_graph, dom_reads_left_and_its_row_grows_and_then_shrinks) {
  EXPECT_EQ(inputs_of("dom", 4, 3, 1), (table{{0}, {0, 1}, {1, 2}, {2, 3}}));
  const graph g("dom", 4, 3);
  std::vector<std::pair<int, int>> rows;
  for (long step = 0; step < 9; ++step)
    rows.emplace_back(g.row_of(step, 9).first, g.row_of(step, 9).end);
  EXPECT_EQ(rows, (std::vector<std::pair<int, int>>{
                      {0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 4}, {0, 4}, {1, 4}, {2, 4}, {3, 4}}));
  EXPECT_EQ(g.tasks(9), 24);
}

TEST(metg_graph, tree_reads_the_parent_and_its_row_doubles) {
  EXPECT_EQ(inputs_of("tree", 6, 3, 1), (table{{0}, {0}, {1}, {1}, {2}, {2}}));
  const graph g("tree", 6, 3);
  columns widths;
  for (const long step : {0L, 1L, 2L, 3L, 40L}) widths.push_back(g.row_of(step, 50).end);
  EXPECT_EQ(widths, (columns{1, 2, 4, 6, 6}));
}

TEST(metg_graph, fft_reads_both_columns_at_a_power_of_two_that_begins_with_one) {
  EXPECT_EQ(inputs_of("fft", 8, 3, 1, 3), (columns{2, 3, 4}));
  EXPECT_EQ(inputs_of("fft", 8, 3, 2, 3), (columns{1, 3, 5}));
  EXPECT_EQ(inputs_of("fft", 8, 3, 3, 3), (columns{3, 7}));
  EXPECT_EQ(inputs_of("fft", 8, 3, 4, 3), (columns{2, 3, 4}));
  EXPECT_EQ(inputs_of("fft", 6, 3, 3, 1), (columns{1, 5}));
  EXPECT_EQ(inputs_of("fft", 1, 3, 1, 0), (columns{0}));
}

TEST(metg_graph, nearest_reads_radix_columns_and_an_even_radix_one_more_on_the_left) {
  EXPECT_EQ(inputs_of("nearest", 9, 5, 1, 4), (columns{2, 3, 4, 5, 6}));
  EXPECT_EQ(inputs_of("nearest", 9, 4, 1, 4), (columns{2, 3, 4, 5}));
  EXPECT_EQ(inputs_of("nearest", 9, 5, 1, 0), (columns{0, 1, 2}));
  EXPECT_EQ(inputs_of("nearest", 2, 5, 1), (table{{0, 1}, {0, 1}}));  // Wider than the row.
}

TEST(metg_graph, spread_reads_itself_and_columns_that_move_on) {
  EXPECT_EQ(inputs_of("spread", 12, 3, 3, 0), (columns{0, 4, 8}));
  EXPECT_EQ(inputs_of("spread", 12, 3, 1, 0), (columns{0, 5, 9}));
  EXPECT_EQ(inputs_of("spread", 12, 3, 2, 0), (columns{0, 6, 10}));
  EXPECT_EQ(inputs_of("spread", 12, 3, 2, 7), (columns{1, 5, 7}));
  EXPECT_EQ(inputs_of("spread", 2, 5, 4), (table{{0, 1}, {0, 1}}));
}

TEST(metg_graph, random_nearest_reads_itself_and_some_of_nearest_which_change) {
  constexpr int width = 400, radix = 9;
  const graph g("random_nearest", width, radix);
  long chosen = 0, possible = 0, changed = 0;
  for (int c = 0; c < width; ++c) {
    const columns from = g.inputs(g.phase_of(1), c),
                  near = inputs_of("nearest", width, radix, 1, c);
    EXPECT_TRUE(std::ranges::includes(near, from));
    EXPECT_TRUE(std::ranges::binary_search(from, c));
    chosen += std::ssize(from) - 1;
    possible += std::ssize(near) - 1;
    changed += from != g.inputs(g.phase_of(2), c);
  }
  EXPECT_NEAR(static_cast<double>(chosen) / static_cast<double>(possible), 0.25, 0.03);
  EXPECT_GT(changed, width / 2);
  EXPECT_EQ(g.phases(), 3u);
}

TEST(metg_graph, all_to_all_reads_all) {
  EXPECT_EQ(inputs_of("all_to_all", 3, 3, 1), (table{{0, 1, 2}, {0, 1, 2}, {0, 1, 2}}));
}

TEST(metg_graph, readers_are_those_that_have_the_column_as_an_input) {
  for (const std::string& pattern : patterns())
    for (const int width : {1, 2, 7, 16})
      for (const int radix : {1, 4, 5}) {
        const graph g(pattern, width, radix);
        for (std::size_t phase = 0; phase < g.phases(); ++phase) {
          std::map<int, columns> readers;
          for (int c = 0; c < width; ++c)
            for (const int from : g.inputs(phase, c)) readers[from].push_back(c);
          for (int c = 0; c < width; ++c)
            EXPECT_EQ(g.readers(phase, c), readers[c]) << pattern << " " << width << " " << radix;
        }
      }
}

TEST(metg_graph, all_tasks_but_those_of_the_first_step_have_the_inputs_that_they_need) {
  // A row that grows may not outrun what it reads.
  for (const std::string& pattern : patterns()) {
    const graph g(pattern, 16, 5);
    for (long step = 1; step < 40; ++step) {
      const row before = g.row_of(step - 1, 40), now = g.row_of(step, 40);
      for (int c = now.first; c < now.end; ++c) {
        const columns& from = g.inputs(g.phase_of(step), c);
        const bool any = std::ranges::any_of(from, [&](int f) { return before.has(f); });
        EXPECT_EQ(any, pattern != "trivial") << pattern << " (" << step << ", " << c << ")";
      }
    }
  }
}

TEST(metg_graph, a_pattern_that_there_is_not_is_refused_with_the_names_of_all) {
  try {
    const graph g("stencil", 4, 3);
    FAIL();
  } catch (const std::invalid_argument& wrong) {
    EXPECT_NE(std::string(wrong.what()).find("no pattern 'stencil'"), std::string::npos);
    EXPECT_NE(std::string(wrong.what()).find("stencil_1d_periodic"), std::string::npos);
  }
}

}  // namespace
}  // namespace metg
