// Whose loop a waiting worker takes chunks of first: nodes are made up, and each phase has the loops of
// certain workers open before the thief looks.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <bit>
#include <functional>
#include <vector>

#include "bodies_on_workers.hpp"

namespace weft {
namespace {

using tests::comes_about;

constexpr int thief = 0;

// Of one phase. No worker but the thief waits for anything, so nobody else steals.
struct phase {
  unsigned owners = 0;  // One bit for each worker that has a loop.
  std::atomic<int> opened{0};
  std::atomic<int> ended{0};
  std::atomic<int> victim{-1};  // The owner of the first chunk that the thief ran.

  [[nodiscard]] int owner_count() const { return std::popcount(owners); }
};

struct chunks {
  phase& of;
  int owner;
  std::atomic<bool> is_open{false};

  static void run(void* of_loop, std::int64_t, std::int64_t) {
    auto& c = *static_cast<chunks*>(of_loop);
    int none = -1;
    if (worker::current()->index() == thief) {
      c.of.victim.compare_exchange_strong(none, c.owner);
      return;
    }
    if (!c.is_open.exchange(true)) ++c.of.opened;
    EXPECT_TRUE(comes_about([&] { return c.of.victim != -1; }));
  }
};

void take_part(phase& p, worker& here) {
  if (here.index() == thief) {
    EXPECT_TRUE(comes_about([&] { return p.opened == p.owner_count(); }));
    here.wait_until([&] { return p.victim != -1; }, {"the test"});
  } else if ((p.owners >> here.index() & 1) != 0) {
    chunks mine{p, here.index()};
    loop l{&chunks::run, &mine, 1000, true, true};
    here.execute(l);
    ++p.ended;
  }
  EXPECT_TRUE(comes_about([&] { return p.ended == p.owner_count(); }));
}

// The victims of the phases, by the workers that have loops in each.
template <std::size_t Count>
std::vector<int> victims(steal_mode mode, const std::vector<int>& nodes,
                         const std::array<unsigned, Count>& owners) {
  scheduler_options how;
  how.nodes = nodes;
  how.steal = mode;
  std::array<phase, Count> phases;
  for (std::size_t i = 0; i < Count; ++i) phases[i].owners = owners[i];
  const std::function<void(worker&)> body = [&](worker& here) {
    for (phase& each : phases) take_part(each, here);
  };
  tests::run_on_workers(std::vector(nodes.size(), body), how);
  std::vector<int> found;
  for (const phase& p : phases) found.push_back(p.victim);
  return found;
}

constexpr unsigned all_others = 0b1110;

TEST(a_thief_that_takes_near_loops, tries_the_workers_of_its_own_node_first) {
  const std::array three{all_others, all_others, all_others};
  EXPECT_EQ(victims(steal_mode::near, {0, 1, 1, 0}, three), (std::vector{3, 3, 3}));
  EXPECT_EQ(victims(steal_mode::near, {0, 1, 0, 1}, three), (std::vector{2, 2, 2}));
  EXPECT_EQ(victims(steal_mode::near, {0, 1, 1, 1}, three), (std::vector{1, 1, 1}));
}

TEST(a_thief_that_takes_near_loops, goes_to_other_nodes_when_its_own_has_none) {
  EXPECT_EQ(victims(steal_mode::near, {0, 0, 1, 1}, std::array{0b1100u, 0b1000u}),
            (std::vector{2, 3}));
}

TEST(a_sticky_thief, goes_back_to_the_worker_from_which_it_last_took) {
  // Only one has a loop, then all have; by chance it would be the same once in three.
  std::array<unsigned, 16> owners;
  std::vector<int> expected;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    const int last = 1 + static_cast<int>(i / 2 % 3);
    owners[i] = i % 2 == 0 ? 1u << last : all_others;
    expected.push_back(last);
  }
  EXPECT_EQ(victims(steal_mode::sticky, {0, 0, 0, 0}, owners), expected);
}

}  // namespace
}  // namespace weft
