// Graphs, and collective operations in every algorithm, over a network that misbehaves.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "cluster.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

using comm::algorithm;
using comm::collective;
using comm::outcome;
using tests::cluster;
namespace with = comm::with;

// --- Graphs ---

TEST(comm_graph, runs_operations_and_callbacks_in_the_order_of_its_edges_again_and_again) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    cluster job(2, {}, {.seed = seed, .queue_capacity = 2, .refusals_percent = 30});
    std::uint64_t sent[3] = {}, got[3] = {}, sum = 0;
    comm::graph steps;
    const auto added = steps.add_callback([&] { sum = got[0] + got[1] + got[2]; });
    // Each value is received, then sent on one higher; the sum waits for the three receives.
    for (std::size_t i = 0; i < 3; ++i) {
      const auto received = steps.add([&, i](const comm::completion& ended) {
        return post_recv(job.device(0), 1, std::span(&got[i], 1), with::tag(i), with::local(ended));
      });
      const auto raised = steps.add_callback([&, i] { sent[i] = got[i] + 1; });
      const auto returned = steps.add([&, i](const comm::completion& ended) {
        return post_send(job.device(0), {1}, std::span(&sent[i], 1), with::tag(i),
                         with::local(ended));
      });
      steps.add_edge(received, raised);
      steps.add_edge(raised, returned);
      steps.add_edge(received, added);
    }
    for (std::uint64_t round = 1; round <= 10; ++round) {
      comm::synchronizer over;
      sum = 0;
      steps.start(over);
      EXPECT_THROW(steps.start(), error);
      std::uint64_t back[3] = {};
      comm::counter returned;
      std::uint64_t posted = 0;
      for (std::size_t i = 0; i < 3; ++i) {
        posted += post_recv(job.device(1), 0, std::span(&back[i], 1), with::tag(i),
                            with::local(returned)) == status::posted;
        const std::uint64_t value[] = {round * 10 + i};
        ASSERT_NE(job.insist([&] {
          steps.advance();
          return post_send(job.device(1), {0}, value, with::tag(i));
        }),
                  status::failed);
      }
      ASSERT_TRUE(job.until([&] {
        steps.advance();
        return over.test() && returned.value() == posted;
      }));
      EXPECT_TRUE(steps.is_over());
      EXPECT_EQ(steps.result(), outcome::complete);
      EXPECT_EQ(over.events()[0].kind, comm::operation_kind::group);
      EXPECT_EQ(sum, round * 30 + 3);
      EXPECT_EQ(back[2], round * 10 + 3);
    }
  }
}

TEST(comm_graph, a_long_chain_needs_no_deep_stack_and_a_circle_is_refused) {
  comm::graph steps;
  long calls = 0;
  auto last = steps.add_callback([&] { ++calls; });
  for (int i = 1; i < 100'000; ++i) {
    const auto next = steps.add_callback([&] { ++calls; });
    steps.add_edge(last, next);
    last = next;
  }
  steps.start();
  EXPECT_TRUE(steps.is_over());
  EXPECT_EQ(calls, 100'000);
  steps.add_edge(last, 0);
  EXPECT_THROW(steps.start(), error);
  EXPECT_THROW(steps.add_edge(0, 1'000'000), error);
}

TEST(comm_graph, what_waits_for_a_failed_operation_is_not_begun) {
  cluster job(2);
  comm::graph steps;
  bool called = false;
  std::uint64_t got = 0;
  const auto received = steps.add([&](const comm::completion& ended) {
    return post_recv(job.device(0), 1, std::span(&got, 1), with::local(ended));
  });
  const auto after = steps.add_callback([&] { called = true; });
  steps.add_edge(received, after);
  steps.start();
  job[0].mark_failed(1, "it died");
  ASSERT_TRUE(job.until([&] { return steps.advance(); }));
  EXPECT_EQ(steps.result(), outcome::failed);
  EXPECT_FALSE(called);
}

// --- Collectives ---

class comm_collective : public testing::TestWithParam<int> {
 protected:
  // Begins the same collective at every process and makes progress until all are over.
  template <class Begin>
  void all(Begin&& begin) {
    std::vector<collective> under_way;
    for (int p = 0; p < GetParam(); ++p)
      under_way.push_back(begin(*teams_[static_cast<std::size_t>(p)], p));
    ASSERT_TRUE(job_.until([&] {
      bool over = true;
      for (auto& each : under_way) over &= each.test();
      return over;
    }));
    for (auto& each : under_way) EXPECT_EQ(each.wait(), outcome::complete);
  }
  void SetUp() override {
    for (int p = 0; p < GetParam(); ++p)
      teams_.push_back(std::make_unique<comm::team>(job_.device(p)));
  }
  std::vector<long>& numbers(int p) { return numbers_[static_cast<std::size_t>(p)]; }
  static std::span<std::byte> bytes(std::vector<long>& of) {
    return std::as_writable_bytes(std::span(of));
  }
  int size() const { return GetParam(); }

  cluster job_{GetParam(),
               {.eager_bytes = 1024},
               {.seed = static_cast<std::uint64_t>(GetParam()), .queue_capacity = 4}};
  std::vector<std::unique_ptr<comm::team>> teams_;
  std::vector<std::vector<long>> numbers_ =
      std::vector<std::vector<long>>(static_cast<std::size_t>(GetParam()));
  const std::vector<std::size_t> counts_{0, 1, 7, 100, 9000};
  const comm::combination sum_ = comm::combination_of<long, std::plus<>>();
};

TEST_P(comm_collective, barrier_is_left_when_all_have_entered) {
  for (const auto how : {algorithm::automatic, algorithm::doubling, algorithm::tree}) {
    std::vector<collective> entered;
    for (int p = 0; p < size() - 1; ++p)
      entered.push_back(teams_[static_cast<std::size_t>(p)]->barrier(how));
    for (int i = 0; i < 200; ++i)
      for (auto& each : entered) {
        EXPECT_FALSE(each.test());
      }
    entered.push_back(teams_.back()->barrier(how));
    ASSERT_TRUE(job_.until([&] {
      bool over = true;
      for (auto& each : entered) over &= each.test();
      return over;
    }));
  }
}

TEST_P(comm_collective, broadcast_brings_the_roots_data_to_all) {
  for (const auto how : {algorithm::automatic, algorithm::tree, algorithm::linear, algorithm::ring})
    for (const std::size_t count : counts_)
      for (int root = 0; root < size(); ++root) {
        for (int p = 0; p < size(); ++p) numbers(p).assign(count, p);
        all([&](comm::team& team, int p) { return team.broadcast(bytes(numbers(p)), root, how); });
        for (int p = 0; p < size(); ++p) ASSERT_EQ(numbers(p), std::vector<long>(count, root));
      }
}

TEST_P(comm_collective, reductions_combine_the_parts_of_all) {
  const auto fill = [&](std::size_t count) {
    for (int p = 0; p < size(); ++p) {
      numbers(p).resize(count);
      std::iota(numbers(p).begin(), numbers(p).end(), p * 1000);
    }
  };
  const auto expected = [&](std::size_t count, int parts) {
    std::vector<long> sums(count);
    for (std::size_t i = 0; i < count; ++i)
      for (int p = 0; p < parts; ++p) sums[i] += p * 1000 + static_cast<long>(i);
    return sums;
  };
  for (const std::size_t count : counts_) {
    for (const auto how : {algorithm::automatic, algorithm::tree, algorithm::linear})
      for (int root = 0; root < size(); ++root) {
        fill(count);
        all([&](comm::team& team, int p) {
          return team.reduce(bytes(numbers(p)), sum_, root, how);
        });
        ASSERT_EQ(numbers(root), expected(count, size()));
      }
    for (const auto how : {algorithm::automatic, algorithm::tree, algorithm::linear,
                           algorithm::doubling, algorithm::ring}) {
      fill(count);
      all([&](comm::team& team, int p) { return team.all_reduce(bytes(numbers(p)), sum_, how); });
      for (int p = 0; p < size(); ++p) ASSERT_EQ(numbers(p), expected(count, size()));
    }
    for (const auto how : {algorithm::automatic, algorithm::doubling, algorithm::linear}) {
      fill(count);
      all([&](comm::team& team, int p) { return team.scan(bytes(numbers(p)), sum_, how); });
      for (int p = 0; p < size(); ++p) ASSERT_EQ(numbers(p), expected(count, p + 1));
    }
    for (const auto how : {algorithm::automatic, algorithm::ring, algorithm::linear}) {
      const std::size_t total = count * static_cast<std::size_t>(size());
      fill(total);
      std::vector<std::vector<long>> mine(static_cast<std::size_t>(size()),
                                          std::vector<long>(count));
      all([&](comm::team& team, int p) {
        return team.reduce_scatter(bytes(numbers(p)), bytes(mine[static_cast<std::size_t>(p)]),
                                   sum_, how);
      });
      const auto whole = expected(total, size());
      for (int p = 0; p < size(); ++p)
        ASSERT_TRUE(std::equal(mine[static_cast<std::size_t>(p)].begin(),
                               mine[static_cast<std::size_t>(p)].end(),
                               whole.begin() + static_cast<std::ptrdiff_t>(count) * p));
    }
  }
}

TEST_P(comm_collective, a_linear_reduction_keeps_the_order_of_the_processes) {
  // Digits put one after the other: associative, and the order shows.
  struct digits {
    std::uint64_t value, factor;
  };
  struct append {
    digits operator()(digits a, digits b) const {
      return {a.value * b.factor + b.value, a.factor * b.factor};
    }
  };
  std::vector<digits> parts;
  for (int p = 0; p < size(); ++p) parts.push_back({static_cast<std::uint64_t>(p + 1), 10});
  const int root = size() - 1;
  all([&](comm::team& team, int p) {
    return team.reduce(std::as_writable_bytes(std::span(&parts[static_cast<std::size_t>(p)], 1)),
                       comm::combination_of<digits, append>(), root, algorithm::linear);
  });
  std::uint64_t wanted = 0;
  for (int p = 0; p < size(); ++p) wanted = wanted * 10 + static_cast<std::uint64_t>(p + 1);
  EXPECT_EQ(parts.back().value, wanted);
}

TEST_P(comm_collective, gathers_and_exchanges_put_every_block_where_it_belongs) {
  const auto n = static_cast<std::size_t>(size());
  for (const std::size_t count : counts_) {
    std::vector<std::vector<long>> whole(n, std::vector<long>(n * count));
    std::vector<long> wanted;
    for (std::size_t p = 0; p < n; ++p) {
      numbers_[p].assign(count, static_cast<long>(p) + 1);
      wanted.insert(wanted.end(), count, static_cast<long>(p) + 1);
    }
    for (const auto how : {algorithm::automatic, algorithm::linear, algorithm::tree})
      for (int root = 0; root < size(); ++root) {
        whole[static_cast<std::size_t>(root)].assign(n * count, 0);
        all([&](comm::team& team, int p) {
          return team.gather(bytes(numbers(p)), bytes(whole[static_cast<std::size_t>(p)]), root,
                             how);
        });
        ASSERT_EQ(whole[static_cast<std::size_t>(root)], wanted);
      }
    for (const auto how :
         {algorithm::automatic, algorithm::linear, algorithm::ring, algorithm::doubling}) {
      for (auto& each : whole) each.assign(n * count, 0);
      all([&](comm::team& team, int p) {
        return team.all_gather(bytes(numbers(p)), bytes(whole[static_cast<std::size_t>(p)]), how);
      });
      for (auto& each : whole) ASSERT_EQ(each, wanted);
    }
    for (const auto how : {algorithm::automatic, algorithm::linear, algorithm::ring}) {
      std::vector<std::vector<long>> from(n);
      for (std::size_t p = 0; p < n; ++p)
        for (std::size_t q = 0; q < n; ++q)
          from[p].insert(from[p].end(), count, static_cast<long>(p * 100 + q));
      all([&](comm::team& team, int p) {
        return team.all_to_all(bytes(from[static_cast<std::size_t>(p)]),
                               bytes(whole[static_cast<std::size_t>(p)]), how);
      });
      for (std::size_t p = 0; p < n; ++p)
        for (std::size_t q = 0; q < n; ++q)
          for (std::size_t i = 0; i < count; ++i)
            ASSERT_EQ(whole[p][q * count + i], static_cast<long>(q * 100 + p));
    }
  }
}

TEST_P(comm_collective, several_may_be_under_way_and_a_wrong_algorithm_is_refused) {
  for (int p = 0; p < size(); ++p) numbers(p).assign(3000, 1);
  std::vector<std::vector<long>> second = numbers_;
  std::vector<collective> under_way;
  for (int p = 0; p < size(); ++p) {
    auto& team = *teams_[static_cast<std::size_t>(p)];
    EXPECT_THROW((void)team.barrier(algorithm::linear), error);
    under_way.push_back(team.all_reduce(bytes(numbers(p)), sum_, algorithm::ring));
    under_way.push_back(team.barrier());
    under_way.push_back(
        team.all_reduce(bytes(second[static_cast<std::size_t>(p)]), sum_, algorithm::doubling));
  }
  ASSERT_TRUE(job_.until([&] {
    bool over = true;
    for (auto& each : under_way) over &= each.test();
    return over;
  }));
  for (int p = 0; p < size(); ++p) {
    EXPECT_EQ(numbers(p), std::vector<long>(3000, size()));
    EXPECT_EQ(second[static_cast<std::size_t>(p)], std::vector<long>(3000, size()));
  }
}

TEST_P(comm_collective, rooms_that_are_too_small_and_parts_of_elements_are_refused) {
  const auto blocks = static_cast<std::size_t>(size());
  std::vector<std::byte> block(8), room(8 * blocks), odd(8 * blocks - 1), part(12);
  const auto refuses = [](auto&& begin, const char* why) {
    try {
      (void)begin();
      ADD_FAILURE() << "nothing was thrown; expected: " << why;
    } catch (const error& thrown) {
      EXPECT_NE(std::string(thrown.what()).find(why), std::string::npos) << thrown.what();
    }
  };
  for (auto& each : teams_) {
    auto& team = *each;
    refuses([&] { return team.all_gather(block, odd); }, "all_gather got");
    refuses([&] { return team.gather(block, odd, team.rank()); }, "gather got");
    refuses([&] { return team.all_to_all(room, odd); }, "all_to_all got");
    if (size() > 1)
      refuses([&] { return team.all_to_all(odd, room); }, "give a block of equal size");
    refuses([&] { return team.reduce_scatter(odd, block, sum_); }, "reduce_scatter got");
    refuses([&] { return team.all_reduce(part, sum_); }, "give a multiple of 8");
    refuses([&] { return team.reduce(part, sum_, 0); }, "give a multiple of 8");
    refuses([&] { return team.scan(part, sum_); }, "give a multiple of 8");
    refuses([&] { return team.reduce_scatter(room, part, sum_); }, "give a multiple of 8");
    refuses([&] { return team.all_reduce(block, {}); }, "empty combination");
  }
}

INSTANTIATE_TEST_SUITE_P(processes, comm_collective, testing::Values(1, 2, 3, 4, 5, 7, 8));

}  // namespace
}  // namespace weft
