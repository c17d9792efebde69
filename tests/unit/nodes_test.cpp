// Large collectives of processes on several nodes: the same results as on one, and what crosses the
// network between them no more often than it must.
#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "collective/collectives.hpp"
#include "job.hpp"
#include "rank/communicator_state.hpp"
#include "rank/remote.hpp"
#include "rank_data.hpp"

namespace weft {
namespace {

using tests::affine;
using tests::affine_over;
using tests::affines_of;
using tests::data_of;
using tests::datum;
using tests::run_on_nodes;
using tests::then;

struct nodes {
  std::vector<int> of_process;
  int ranks;
};
std::string nodes_name(const testing::TestParamInfo<nodes>& p) {
  std::string name = std::to_string(p.param.ranks) + "_ranks_on_";
  for (const int node : p.param.of_process) name += static_cast<char>('a' + node);
  return name;
}

std::vector<affine> affines_upto(int rank, std::size_t count) {
  std::vector<affine> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = affine_over(0, rank, i);
  return all;
}

// Around the sizes from which parts go alone, and from which processes and nodes share out a reduction.
constexpr std::size_t counts[] = {121, 511, 512, 513, 1025, 2047, 2049, 5001};

void check_moves(const communicator& c) {
  for (const std::size_t count : counts)
    for (int root = 0; root < c.size(); ++root) {
      auto all = c.rank() == root ? data_of(root, count) : std::vector<std::int64_t>(count, -1);
      c.bcast(all, root);
      ASSERT_EQ(all, data_of(root, count));
    }
  const auto n = static_cast<std::size_t>(c.size());
  for (const std::size_t count : counts) {
    std::vector<std::int64_t> expected, all(n * count, -1);
    for (int r = 0; r < c.size(); ++r)
      for (std::size_t i = 0; i < count; ++i) expected.push_back(datum(r, i));
    c.allgather(data_of(c.rank(), count), all);
    ASSERT_EQ(all, expected);
    std::vector<std::int64_t> at_root(c.rank() == 1 ? n * count : 0);
    c.gather(data_of(c.rank(), count), at_root, 1);
    if (c.rank() == 1) {
      ASSERT_EQ(at_root, expected);
    }
  }
  // Of lengths of their own, of nothing, and of strides, which are packed on their way.
  const auto length = [](int rank) { return static_cast<std::size_t>(rank * 977 % 1500); };
  std::vector<std::int64_t> expected;
  for (int r = 0; r < c.size(); ++r)
    for (std::size_t i = 0; i < length(r); ++i) expected.push_back(datum(r, i));
  ASSERT_EQ(c.allgatherv(data_of(c.rank(), length(c.rank()))), expected);
  ASSERT_EQ(c.allgatherv(std::vector<int>{}), std::vector<int>{});
  for (const std::size_t count : {std::size_t{300}, std::size_t{3000}}) {
    std::vector<std::int64_t> apart(2 * count, -7);
    const int root = c.size() - 1;
    if (c.rank() == root)
      for (std::size_t i = 0; i < count; ++i) apart[2 * i] = datum(root, i);
    const layout every_other = strided(apart, {.stride = 2, .count = count});
    detail::broadcast(c.state(), c.rank(), writable_bytes_of(every_other), root, "bcast");
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(apart[2 * i], datum(root, i));
      ASSERT_EQ(apart[2 * i + 1], -7);
    }
  }
}

void check_reductions(const communicator& c) {
  for (const std::size_t count : counts) {
    std::vector<std::int64_t> expected(count);
    for (int r = 0; r < c.size(); ++r)
      for (std::size_t i = 0; i < count; ++i) expected[i] += datum(r, i);
    auto sum = data_of(c.rank(), count);
    c.allreduce(sum, std::plus<>{});
    ASSERT_EQ(sum, expected);
    for (int root = 0; root < c.size(); ++root) {
      std::vector<std::int64_t> out(count, -5);
      c.reduce(data_of(c.rank(), count), out, std::plus<>{}, root);
      ASSERT_EQ(out, c.rank() == root ? expected : std::vector<std::int64_t>(count, -5));
    }

    const auto in_order = non_commutative(&then);
    const auto mine = affines_of(c.rank(), count);
    const auto all = affines_upto(c.size() - 1, count);
    auto out = mine;
    c.allreduce(out, in_order);
    ASSERT_EQ(out, all);
    c.reduce(mine, out, in_order, c.size() / 2);
    ASSERT_EQ(out, all);
    c.scan(mine, out, in_order);
    ASSERT_EQ(out, affines_upto(c.rank(), count));

    // The same bits everywhere.
    std::vector<double> parts(count);
    for (std::size_t i = 0; i < count; ++i)
      parts[i] = 1.0 / (3 + c.rank() * 7 + static_cast<int>(i));
    c.allreduce(parts, std::plus<>{});
    auto of_first = parts;
    c.bcast(of_first, 0);
    ASSERT_EQ(parts, of_first);
  }
  // Elements that are fewer than the shares.
  struct wide {
    std::array<std::int64_t, 4000> values;
  };
  for (const std::size_t count : {std::size_t{1}, std::size_t{3}}) {
    std::vector<wide> all(count);
    for (std::size_t e = 0; e < count; ++e)
      for (std::size_t i = 0; i < 4000; ++i) all[e].values[i] = datum(c.rank(), i + e);
    c.allreduce(all, [](const wide& a, const wide& b) {
      wide sum;
      for (std::size_t i = 0; i < 4000; ++i) sum.values[i] = a.values[i] + b.values[i];
      return sum;
    });
    for (std::size_t e = 0; e < count; ++e)
      for (std::size_t i = 0; i < 4000; ++i) {
        std::int64_t expected = 0;
        for (int r = 0; r < c.size(); ++r) expected += datum(r, i + e);
        ASSERT_EQ(all[e].values[i], expected);
      }
  }
}

class large_collectives : public testing::TestWithParam<nodes> {
 protected:
  static void on_all(const std::function<void(communicator&)>& body) {
    const auto workers = static_cast<int>(GetParam().of_process.size());
    EXPECT_EQ(run_on_nodes(GetParam().of_process, job_of(GetParam().ranks, workers), body).status,
              0);
  }
};

TEST_P(large_collectives, give_all_ranks_what_they_should) {
  on_all([](communicator& world) {
    check_moves(world);
    check_reductions(world);
  });
}

TEST_P(large_collectives, in_communicators_whose_ranks_are_in_another_order) {
  on_all([](communicator& world) {
    const communicator back = *world.split(0, -world.rank());
    check_moves(back);
    check_reductions(back);
    // Every other one first: nodes and processes hold no ranks in a row.
    const communicator mixed = *world.split(0, world.rank() % 2);
    check_moves(mixed);
    check_reductions(mixed);
  });
}

TEST_P(large_collectives, in_communicators_of_a_part_of_the_nodes) {
  on_all([](communicator& world) {
    // All but the first rank and every third: of some nodes one process, or none.
    for (const bool wanted : {world.rank() != 0, world.rank() % 3 != 1}) {
      const std::optional<communicator> part = world.split(wanted ? 0 : 1);
      if (part->size() < 2) continue;
      check_moves(*part);
      check_reductions(*part);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(of, large_collectives,
                         testing::Values(nodes{{0, 0, 1, 1}, 4}, nodes{{0, 0, 1, 1}, 9},
                                         nodes{{0, 1, 0, 1}, 6}, nodes{{0, 0, 0, 1}, 5},
                                         nodes{{0, 1, 1, 1, 1, 2}, 6}, nodes{{0, 0, 1, 1, 2, 2}, 6},
                                         nodes{{0, 0, 0, 1, 1, 2}, 7}),
                         nodes_name);

// What crosses between nodes when ranks, one in each process, call a collective of 1 MiB, in units of
// that; and nearly nothing else does, but for questions whether the job stands still, on a busy machine.
constexpr std::size_t mebibyte = std::size_t{1} << 17;  // Elements of 8 bytes.

double crossing(const std::vector<int>& node_of_process,
                const std::function<void(communicator&)>& body) {
  const auto ranks = static_cast<int>(node_of_process.size());
  const auto ended = run_on_nodes(node_of_process, job_of(ranks, ranks), body);
  EXPECT_EQ(ended.status, 0);
  return static_cast<double>(ended.bytes_between_nodes) / (1 << 20);
}

struct layout_of_job {
  const char* name;
  std::vector<int> node_of_process;
  double nodes;
  double processes_elsewhere;  // Over all processes: those that are on other nodes.
};

class between_nodes : public testing::TestWithParam<layout_of_job> {
 protected:
  static void expect_crossing(double expected, const std::function<void(communicator&)>& body) {
    constexpr double little = 0.05;  // Calls, meetings, the start and the end of the job.
    EXPECT_NEAR(
        least_of(3, expected + little, [&] { return crossing(GetParam().node_of_process, body); }),
        expected, little);
  }
};

TEST_P(between_nodes, a_broadcast_crosses_once_to_each_node) {
  for (const int root : {0, 2})
    expect_crossing(GetParam().nodes - 1, [&](communicator& world) {
      std::vector<std::int64_t> data(mebibyte);
      world.bcast(data, root);
    });
}

TEST_P(between_nodes, what_all_give_to_all_crosses_once_to_each_node) {
  const auto processes = static_cast<double>(GetParam().node_of_process.size());
  const double once = processes * (GetParam().nodes - 1);
  expect_crossing(once, [](communicator& world) {
    std::vector<std::int64_t> mine(mebibyte),
        all(mebibyte * static_cast<std::size_t>(world.size()));
    world.allgather(mine, all);
  });
  expect_crossing(once, [](communicator& world) {
    (void)world.allgatherv(std::vector<std::int64_t>(mebibyte));
  });
}

TEST_P(between_nodes, the_data_of_a_reduction_cross_twice_for_all_but_one_node) {
  const double nodes = GetParam().nodes;
  expect_crossing(2 * (nodes - 1), [](communicator& world) {
    std::vector<std::int64_t> data(mebibyte);
    world.allreduce(data, std::plus<>{});
  });
  expect_crossing(2 * (nodes - 1), [](communicator& world) {
    std::vector<affine> data(mebibyte / 2);
    world.allreduce(data, non_commutative(&then));
  });
  // To a root its node's share of the result does not go.
  expect_crossing(nodes - 1 + (nodes - 1) / nodes, [](communicator& world) {
    std::vector<std::int64_t> data(mebibyte), out(mebibyte);
    world.reduce(data, out, std::plus<>{}, 1);
  });
}

TEST_P(between_nodes, what_each_gives_to_each_crosses_as_it_must) {
  expect_crossing(GetParam().processes_elsewhere / 4, [](communicator& world) {
    const auto n = static_cast<std::size_t>(world.size());
    std::vector<std::int64_t> to_each(mebibyte / 4 * n), from_each(mebibyte / 4 * n);
    world.alltoall(to_each, from_each);
  });
}

INSTANTIATE_TEST_SUITE_P(of, between_nodes,
                         testing::Values(layout_of_job{"two_and_two", {0, 0, 1, 1}, 2, 8},
                                         layout_of_job{"three_and_one", {0, 0, 0, 1}, 2, 6},
                                         layout_of_job{
                                             "three_times_two", {0, 0, 1, 1, 2, 2}, 3, 24},
                                         layout_of_job{"one_each", {0, 1, 2}, 3, 6}),
                         [](const auto& p) { return std::string(p.param.name); });

// Whether memory is read in place is asked of the transport, and only within a node.
TEST(memory_in_place, is_that_of_a_node_whose_transport_puts_and_gets_without_registration) {
  const auto expect = [](const sim_options& network, bool is_read) {
    const auto ended = run_on_nodes(
        {0, 0, 1}, job_of(3, 3),
        [&](communicator& world) {
          const detail::communicator_state& c = world.state();
          for (int rank = 0; rank < 3; ++rank) {
            if (rank == world.rank()) continue;
            EXPECT_EQ(c.of.ways->reads_in_place(*worker::current(), rank),
                      is_read && rank + world.rank() == 1)
                << "rank " << rank << " from " << world.rank();
          }
          const communicator near = *world.split(world.rank() / 2);
          if (near.size() > 1) check_moves(near);
        },
        network);
    EXPECT_EQ(ended.status, 0);
  };
  expect({.seed = 1}, true);
  expect({.seed = 2, .can_put = false}, false);
  expect({.seed = 3, .can_get = false}, false);
  expect({.seed = 4, .needs_registration = true}, false);
  expect({.seed = 5, .registration_opens = true}, false);
}

TEST(a_job_of_too_many_ranks, is_refused_also_where_each_process_has_few_enough) {
  options how;
  how.workers = 2;
  how.ranks_per_process = 600'000;
  testing::internal::CaptureStderr();
  const int status = run_on_nodes({0, 0}, how, [](communicator&) {}).status;
  EXPECT_NE(status, 0);
  expect_contains(testing::internal::GetCapturedStderr(),
                  "2 processes of 600000 ranks each are 1200000 ranks: the limit is 1048576");
}

}  // namespace
}  // namespace weft
