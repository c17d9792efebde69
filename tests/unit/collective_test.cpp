// Every collective against what one rank alone computes, for many numbers of ranks and workers,
// sizes and maps.
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "job.hpp"
#include "rank_data.hpp"

namespace weft {
namespace {

using tests::affine;
using tests::affine_of;
using tests::affine_over;
using tests::affines_of;
using tests::data_of;
using tests::datum;
using tests::then;

std::int64_t sum_over(int last, std::size_t i) {
  std::int64_t sum = 0;
  for (int r = 0; r <= last; ++r) sum += datum(r, i);
  return sum;
}

struct shape {
  int ranks;
  int workers;
  const char* map;
};
std::string shape_name(const testing::TestParamInfo<shape>& p) {
  return std::to_string(p.param.ranks) + "_ranks_on_" + std::to_string(p.param.workers) +
         "_workers_" + p.param.map;
}

// Elements of 8 bytes: nothing, one, small, the last that travels in a dropbox, the first that
// does not, and large.
constexpr std::size_t counts[] = {0, 1, 5, 120, 121, 5000};

class collectives : public testing::TestWithParam<shape> {
 protected:
  static void on_all(const std::function<void(communicator&)>& body) {
    run_ranks(job_of(GetParam().ranks, GetParam().workers, GetParam().map), body);
  }
};

TEST_P(collectives, a_barrier_lets_nobody_through_before_the_last_has_come) {
  constexpr std::size_t rounds = 20;
  const tests::common_counters arrived(job_of(GetParam().ranks, GetParam().workers), rounds);
  on_all([&](communicator& world) {
    for (std::size_t i = 0; i < rounds; ++i) {
      ++arrived[i];
      world.barrier();
      EXPECT_EQ(arrived[i], world.size());
    }
  });
}

TEST_P(collectives, bcast_from_every_root_reaches_all) {
  on_all([](communicator& world) {
    for (const std::size_t count : counts)
      for (int root = 0; root < world.size(); ++root) {
        auto d = world.rank() == root ? data_of(root, count) : std::vector<std::int64_t>(count, -1);
        world.bcast(d, root);
        EXPECT_EQ(d, data_of(root, count));
      }
    EXPECT_EQ(world.bcast(world.rank() == 0 ? 3.25 : 0.0, 0), 3.25);
  });
}

TEST_P(collectives, reduce_gives_the_sum_to_its_root_alone) {
  on_all([](communicator& world) {
    for (const std::size_t count : counts)
      for (const int root : {0, world.size() - 1, world.size() / 2}) {
        std::vector<std::int64_t> out(count, -5);
        world.reduce(data_of(world.rank(), count), out, std::plus<>{}, root);
        for (std::size_t i = 0; i < count; ++i)
          ASSERT_EQ(out[i], world.rank() == root ? sum_over(world.size() - 1, i) : -5);
      }
    const int sum = world.reduce(world.rank(), std::plus<>{}, 0);
    if (world.rank() == 0) {
      EXPECT_EQ(sum, world.size() * (world.size() - 1) / 2);
    }
  });
}

TEST_P(collectives, allreduce_gives_the_result_to_all_and_works_in_place) {
  on_all([](communicator& world) {
    for (const std::size_t count : counts) {
      std::vector<std::int64_t> out(count, -5);
      world.allreduce(data_of(world.rank(), count), out, std::plus<>{});
      auto inout = data_of(world.rank(), count);
      world.allreduce(inout, std::plus<>{});
      auto most = data_of(world.rank(), count);
      world.allreduce(most, max{});
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(out[i], sum_over(world.size() - 1, i));
        ASSERT_EQ(inout[i], out[i]);
        std::int64_t expected = datum(0, i);
        for (int r = 1; r < world.size(); ++r) expected = std::max(expected, datum(r, i));
        ASSERT_EQ(most[i], expected);
      }
    }
    EXPECT_EQ(world.allreduce(world.rank() + 1, max{}), world.size());
    EXPECT_EQ(world.allreduce(world.rank() + 1, weft::min{}), 1);
    EXPECT_EQ(world.allreduce(1u << (world.rank() % 20), std::bit_or<>{}),
              world.size() >= 20 ? 0xfffffu : (1u << world.size()) - 1);
  });
}

TEST_P(collectives, an_operation_that_does_not_commute_is_applied_in_rank_order) {
  on_all([](communicator& world) {
    const auto op = non_commutative(&then);
    for (const std::size_t count :
         {std::size_t{1}, std::size_t{60}, std::size_t{61}, std::size_t{3000}}) {
      const auto mine = affines_of(world.rank(), count);
      std::vector<affine> all(count);
      world.allreduce(mine, all, op);
      std::vector<affine> upto(count);
      world.scan(mine, upto, op);
      std::vector<affine> before(count, affine{1, 0});
      world.exscan(mine, before, op);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(all[i], affine_over(0, world.size() - 1, i));
        ASSERT_EQ(upto[i], affine_over(0, world.rank(), i));
        ASSERT_EQ(before[i],
                  world.rank() == 0 ? (affine{1, 0}) : affine_over(0, world.rank() - 1, i));
      }
    }
  });
}

TEST_P(collectives, a_sum_of_doubles_is_the_same_every_time_and_on_every_rank) {
  on_all([](communicator& world) {
    const double mine = 1.0 / (3 + world.rank() * 7);
    const double first = world.allreduce(mine, std::plus<>{});
    for (int i = 0; i < 10; ++i) {
      if (world.rank() % 2 == i % 2) yield();  // Others come first this time.
      const double again = world.allreduce(mine, std::plus<>{});
      EXPECT_EQ(again, first);
      EXPECT_EQ(world.bcast(again, 0), again);
    }
  });
}

// Between processes each combines a share of the elements: here there are fewer than processes.
TEST_P(collectives, a_few_elements_of_many_bytes_are_reduced) {
  struct wide {
    std::array<std::int64_t, 1300> values;
  };
  const auto add = [](const wide& a, const wide& b) {
    wide sum;
    for (std::size_t i = 0; i < a.values.size(); ++i) sum.values[i] = a.values[i] + b.values[i];
    return sum;
  };
  on_all([&](communicator& world) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{3}}) {
      std::vector<wide> mine(count), all(count), at_root(count);
      for (std::size_t e = 0; e < count; ++e)
        for (std::size_t i = 0; i < 1300; ++i) mine[e].values[i] = datum(world.rank(), i + e);
      const int root = world.size() - 1;
      world.reduce(mine, at_root, add, root);
      world.allreduce(mine, all, add);
      for (std::size_t e = 0; e < count; ++e)
        for (std::size_t i = 0; i < 1300; ++i) {
          ASSERT_EQ(all[e].values[i], sum_over(world.size() - 1, i + e));
          if (world.rank() == root) {
            ASSERT_EQ(at_root[e].values[i], all[e].values[i]);
          }
        }
    }
  });
}

// So large that between processes each part goes where it belongs by itself.
TEST_P(collectives, large_blocks_come_to_their_places) {
  on_all([](communicator& world) {
    const auto n = static_cast<std::size_t>(world.size());
    for (const std::size_t block : {std::size_t{511}, std::size_t{512}, std::size_t{9000}}) {
      if (block * n > 100'000) continue;
      const auto place = [&](std::size_t r, std::size_t i) { return r * block + i; };
      std::vector<std::int64_t> to_each(n * block), from_each(n * block, -1), of_all(n * block, -2);
      for (std::size_t r = 0; r < n; ++r)
        for (std::size_t i = 0; i < block; ++i)
          to_each[place(r, i)] = datum(world.rank(), i) + static_cast<std::int64_t>(r);
      world.alltoall(to_each, from_each);
      const auto mine = data_of(world.rank(), block);
      world.allgather(mine, of_all);
      for (std::size_t r = 0; r < n; ++r)
        for (std::size_t i = 0; i < block; ++i) {
          ASSERT_EQ(from_each[place(r, i)], datum(static_cast<int>(r), i) + world.rank());
          ASSERT_EQ(of_all[place(r, i)], datum(static_cast<int>(r), i));
        }
      const int root = static_cast<int>(n / 2);
      std::vector<std::int64_t> gathered(world.rank() == root ? n * block : 0), part(block);
      world.gather(mine, gathered, root);
      world.scatter(of_all, part, root);
      ASSERT_EQ(part, mine);
      if (world.rank() == root) {
        ASSERT_EQ(gathered, of_all);
      }
    }
  });
}

TEST_P(collectives, scan_and_exscan_reduce_the_ranks_before) {
  on_all([](communicator& world) {
    for (const std::size_t count : counts) {
      auto inout = data_of(world.rank(), count);
      world.scan(inout, inout, std::plus<>{});
      std::vector<std::int64_t> before(count, 99);
      world.exscan(data_of(world.rank(), count), before, std::plus<>{});
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(inout[i], sum_over(world.rank(), i));
        ASSERT_EQ(before[i], world.rank() == 0 ? 99 : sum_over(world.rank() - 1, i));
      }
    }
    EXPECT_EQ(world.scan(1, std::plus<>{}), world.rank() + 1);
    EXPECT_EQ(world.exscan(1, std::plus<>{}), world.rank() == 0 ? 1 : world.rank());
  });
}

TEST_P(collectives, gather_and_allgather_put_blocks_in_rank_order) {
  on_all([](communicator& world) {
    const auto n = static_cast<std::size_t>(world.size());
    for (const std::size_t count : counts) {
      if (count * n > 200'000) continue;
      const int root = world.size() / 2;
      std::vector<std::int64_t> on_root(world.rank() == root ? count * n : 0);
      std::vector<std::int64_t> on_all(count * n);
      world.gather(data_of(world.rank(), count), on_root, root);
      world.allgather(data_of(world.rank(), count), on_all);
      for (int r = 0; r < world.size(); ++r)
        for (std::size_t i = 0; i < count; ++i) {
          const std::size_t at = static_cast<std::size_t>(r) * count + i;
          ASSERT_EQ(on_all[at], datum(r, i));
          if (world.rank() == root) {
            ASSERT_EQ(on_root[at], datum(r, i));
          }
        }
    }
    std::vector<int> numbers(n);
    std::iota(numbers.begin(), numbers.end(), 0);
    EXPECT_EQ(world.allgather(world.rank()), numbers);
    EXPECT_EQ(world.gather(world.rank(), 0), world.rank() == 0 ? numbers : std::vector<int>{});
  });
}

TEST_P(collectives, gatherv_and_allgatherv_take_ranges_of_any_length) {
  on_all([](communicator& world) {
    const auto length = [](int r) { return static_cast<std::size_t>(r * 37 % 11); };
    std::vector<std::int64_t> expected;
    std::vector<std::size_t> lengths;
    for (int r = 0; r < world.size(); ++r) {
      const auto part = data_of(r, length(r));
      expected.insert(expected.end(), part.begin(), part.end());
      lengths.push_back(length(r));
    }
    const auto mine = data_of(world.rank(), length(world.rank()));
    std::vector<std::size_t> got;
    EXPECT_EQ(world.allgatherv(mine, &got), expected);
    EXPECT_EQ(got, lengths);
    const int root = world.size() - 1;
    const auto on_root = world.gatherv(mine, root, &got);
    EXPECT_EQ(on_root, world.rank() == root ? expected : std::vector<std::int64_t>{});
    if (world.rank() == root) {
      EXPECT_EQ(got, lengths);
    }
  });
}

TEST_P(collectives, scatter_and_scatterv_hand_out_the_roots_blocks) {
  on_all([](communicator& world) {
    const auto n = static_cast<std::size_t>(world.size());
    const int root = world.size() / 2;
    for (const std::size_t count : counts) {
      if (count * n > 200'000) continue;
      std::vector<std::int64_t> in;
      if (world.rank() == root) in = data_of(3, count * n);
      std::vector<std::int64_t> mine(count);
      world.scatter(in, mine, root);
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ(mine[i], datum(3, static_cast<std::size_t>(world.rank()) * count + i));
    }
    std::vector<int> values;
    std::vector<std::size_t> lengths;
    if (world.rank() == root)
      for (int r = 0; r < world.size(); ++r) {
        lengths.push_back(static_cast<std::size_t>(r % 4));
        values.insert(values.end(), lengths.back(), r);
      }
    const std::vector<int> part(static_cast<std::size_t>(world.rank() % 4), world.rank());
    EXPECT_EQ(world.scatterv(values, lengths, root), part);
    EXPECT_EQ(world.scatterv(std::span<const int>(values), lengths, root), part);
  });
}

TEST_P(collectives, alltoall_and_alltoallv_transpose_the_blocks) {
  on_all([](communicator& world) {
    const auto n = static_cast<std::size_t>(world.size());
    for (const std::size_t block : {std::size_t{0}, std::size_t{1}, std::size_t{300}}) {
      std::vector<std::int64_t> in(block * n);
      for (std::size_t i = 0; i < in.size(); ++i)
        in[i] = world.rank() * 1'000'000 + static_cast<std::int64_t>(i);
      std::vector<std::int64_t> out(in.size());
      world.alltoall(in, out);
      for (std::size_t r = 0; r < n; ++r)
        for (std::size_t i = 0; i < block; ++i)
          ASSERT_EQ(out[r * block + i],
                    static_cast<std::int64_t>(r * 1'000'000 +
                                              static_cast<std::size_t>(world.rank()) * block + i));
    }
    // Rank a sends (a + b) % 3 values to rank b.
    std::vector<int> in;
    std::vector<std::size_t> to;
    std::vector<int> expected;
    std::vector<std::size_t> from;
    for (int b = 0; b < world.size(); ++b) {
      const auto length = static_cast<std::size_t>((world.rank() + b) % 3);
      to.push_back(length);
      from.push_back(length);
      in.insert(in.end(), length, world.rank() * 10'000 + b);
      expected.insert(expected.end(), length, b * 10'000 + world.rank());
    }
    std::vector<std::size_t> arrived;
    EXPECT_EQ(world.alltoallv(in, to, &arrived), expected);
    EXPECT_EQ(arrived, from);
    EXPECT_EQ(world.alltoallv(std::span<const int>(in), to), expected);
  });
}

TEST_P(collectives, reduce_scatter_gives_each_rank_its_reduced_block) {
  on_all([](communicator& world) {
    const auto n = static_cast<std::size_t>(world.size());
    for (const std::size_t block : {std::size_t{0}, std::size_t{1}, std::size_t{200}}) {
      const auto in = data_of(world.rank(), block * n);
      std::vector<std::int64_t> out(block);
      world.reduce_scatter(in, out, std::plus<>{});
      for (std::size_t i = 0; i < block; ++i)
        ASSERT_EQ(out[i],
                  sum_over(world.size() - 1, static_cast<std::size_t>(world.rank()) * block + i));
    }
  });
}

TEST_P(collectives, many_non_blocking_ones_may_be_under_way_and_end_in_any_order) {
  on_all([](communicator& world) {
    const auto n = static_cast<std::size_t>(world.size());
    for (int round = 0; round < 3; ++round) {
      const auto count = static_cast<std::size_t>(round * 100 + 1);
      const auto mine = data_of(world.rank(), count);
      std::vector<std::int64_t> sum(count), most(count), all(count * n), got(count), upto(count),
          before(count, 99), part(count), block(count), turned(count * n), parts(count),
          on_root(world.rank() == 0 ? count * n : 0);
      const auto large = data_of(world.rank(), count * n);
      if (world.rank() == 0) got = data_of(0, count);
      std::vector<request> under_way;
      under_way.push_back(world.ibarrier());
      under_way.push_back(world.iallreduce(mine, sum, std::plus<>{}));
      under_way.push_back(world.ibcast(got, 0));
      under_way.push_back(world.ireduce(mine, most, max{}, 0));
      under_way.push_back(world.iallgather(mine, all));
      under_way.push_back(world.iscan(mine, upto, std::plus<>{}));
      under_way.push_back(world.iexscan(mine, before, std::plus<>{}));
      under_way.push_back(world.ireduce_scatter(large, part, std::plus<>{}));
      under_way.push_back(world.igather(mine, on_root, 0));
      under_way.push_back(world.iscatter(all, parts, 0));
      under_way.push_back(world.ialltoall(large, turned));
      // A blocking one takes its turn behind them.
      EXPECT_EQ(world.allreduce(1, std::plus<>{}), world.size());
      if (world.rank() % 2 == 0) std::reverse(under_way.begin(), under_way.end());
      for (request& r : under_way) {
        if (round % 2 == 0)
          r.wait();
        else
          while (!r.test()) {
          }
      }
      EXPECT_EQ(got, data_of(0, count));
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(sum[i], sum_over(world.size() - 1, i));
        ASSERT_EQ(upto[i], sum_over(world.rank(), i));
        ASSERT_EQ(before[i], world.rank() == 0 ? 99 : sum_over(world.rank() - 1, i));
        ASSERT_EQ(part[i],
                  sum_over(world.size() - 1, static_cast<std::size_t>(world.rank()) * count + i));
        ASSERT_EQ(parts[i], datum(world.rank(), i));
        for (int r = 0; r < world.size(); ++r) {
          const std::size_t at = static_cast<std::size_t>(r) * count + i;
          ASSERT_EQ(all[at], datum(r, i));
          ASSERT_EQ(turned[at], datum(r, static_cast<std::size_t>(world.rank()) * count + i));
          if (world.rank() == 0) {
            ASSERT_EQ(on_root[at], datum(r, i));
          }
        }
      }
    }
  });
}

TEST_P(collectives, of_reductions_take_single_variables_and_work_in_place) {
  on_all([](communicator& world) {
    const int mine = world.rank() + 1, ranks = world.size();
    const auto sum_to = [](int n) { return n * (n + 1) / 2; };
    int sum = 0, on_root = 0, up_to = 0, before = 99;
    int sum_in_place = mine, up_to_in_place = mine, before_in_place = mine;
    std::vector<request> under_way;
    under_way.push_back(world.iallreduce(mine, sum, std::plus<>{}));
    under_way.push_back(world.ireduce(mine, on_root, std::plus<>{}, 0));
    under_way.push_back(world.iscan(mine, up_to, std::plus<>{}));
    under_way.push_back(world.iexscan(mine, before, std::plus<>{}));
    under_way.push_back(world.iallreduce(sum_in_place, std::plus<>{}));
    under_way.push_back(world.iscan(up_to_in_place, std::plus<>{}));
    under_way.push_back(world.iexscan(before_in_place, std::plus<>{}));
    wait_all(under_way);
    EXPECT_EQ(sum, sum_to(ranks));
    if (world.rank() == 0) {
      EXPECT_EQ(on_root, sum_to(ranks));
    }
    EXPECT_EQ(up_to, sum_to(mine));
    EXPECT_EQ(before, world.rank() == 0 ? 99 : sum_to(mine - 1));
    EXPECT_EQ(sum_in_place, sum_to(ranks));
    EXPECT_EQ(up_to_in_place, sum_to(mine));
    EXPECT_EQ(before_in_place, world.rank() == 0 ? 1 : sum_to(mine - 1));
    for (const std::size_t count : counts) {
      auto all = data_of(world.rank(), count), upto = all, below = all, started = all;
      request summing = world.iallreduce(all, std::plus<>{});
      summing.wait();
      request scanning = world.iscan(std::span(started), std::plus<>{});
      scanning.wait();
      world.scan(upto, std::plus<>{});
      world.exscan(below, std::plus<>{});
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(all[i], sum_over(world.size() - 1, i));
        ASSERT_EQ(upto[i], sum_over(world.rank(), i));
        ASSERT_EQ(started[i], sum_over(world.rank(), i));
        ASSERT_EQ(below[i],
                  world.rank() == 0 ? datum(world.rank(), i) : sum_over(world.rank() - 1, i));
      }
    }
  });
}

// The i-th of rank r: what all non-blocking forms with lengths of their own carry here.
std::vector<std::int64_t> part_of(int r) {
  return data_of(r, static_cast<std::size_t>(r * 37 % 11));
}

TEST_P(collectives, with_lengths_of_each_ranks_own_overlap_on_several_communicators) {
  on_all([](communicator& world) {
    const communicator twin = world.dup();
    const communicator half = *world.split(world.rank() % 2);
    const int root = world.size() - 1;
    std::vector<std::int64_t> expected;
    std::vector<std::int64_t> expected_of_half;
    std::vector<std::size_t> lengths;
    for (int r = 0; r < world.size(); ++r) {
      const auto part = part_of(r);
      lengths.push_back(part.size());
      expected.insert(expected.end(), part.begin(), part.end());
      if (r % 2 == world.rank() % 2)
        expected_of_half.insert(expected_of_half.end(), part.begin(), part.end());
    }
    const auto mine = part_of(world.rank());
    // Rank a sends (a + b) % 3 values to rank b.
    std::vector<int> to_all;
    std::vector<std::size_t> to_each;
    std::vector<int> expected_from_all;
    for (int b = 0; b < world.size(); ++b) {
      to_each.push_back(static_cast<std::size_t>((world.rank() + b) % 3));
      to_all.insert(to_all.end(), to_each.back(), world.rank() * 10'000 + b);
      expected_from_all.insert(expected_from_all.end(), to_each.back(), b * 10'000 + world.rank());
    }
    for (int round = 0; round < 3; ++round) {
      std::vector<std::int64_t> on_root, all, all_of_half, again;
      std::vector<std::size_t> got, arrived;
      std::vector<int> from_all;
      std::vector<std::int64_t> own;
      const std::vector<std::int64_t> handed_out =
          world.rank() == root ? expected : std::vector<std::int64_t>{};
      std::vector<request> under_way;
      under_way.push_back(world.igatherv(mine, on_root, root, &got));
      under_way.push_back(half.iallgatherv(mine, all_of_half));
      under_way.push_back(twin.ialltoallv(to_all, to_each, from_all, &arrived));
      under_way.push_back(world.iscatterv(
          handed_out, world.rank() == root ? lengths : std::vector<std::size_t>{}, own, root));
      under_way.push_back(twin.iallgatherv(mine, all));
      under_way.push_back(world.iallgatherv(mine, again));
      if (world.rank() % 2 == 0) std::reverse(under_way.begin(), under_way.end());
      if (round == 0)
        wait_all(under_way);
      else
        for (request& r : under_way) {
          if (round == 1)
            r.wait();
          else
            while (!r.test()) {
            }
        }
      EXPECT_EQ(on_root, handed_out);
      if (world.rank() == root) {
        EXPECT_EQ(got, lengths);
      }
      EXPECT_EQ(all_of_half, expected_of_half);
      EXPECT_EQ(from_all, expected_from_all);
      EXPECT_EQ(arrived, to_each);
      EXPECT_EQ(own, mine);
      EXPECT_EQ(all, expected);
      EXPECT_EQ(again, expected);
    }
  });
}

TEST(lengths_that_do_not_fit, are_told_by_the_wait_for_a_non_blocking_collective) {
  run_ranks(1, 1, [](communicator& world) {
    const std::vector<int> in(5);
    std::vector<int> out;
    request wrong = world.ialltoallv(in, {6}, out);
    expect_contains(error_of([&] { wrong.wait(); }), "alltoallv");
    request few = world.iscatterv(in, {}, out, 0);
    expect_contains(error_of([&] { few.wait(); }), "scatterv");
    request right = world.ialltoallv(in, {5}, out);  // The communicator is as good as before.
    right.wait();
    EXPECT_EQ(out, in);
  });
}

TEST_P(collectives, and_messages_do_not_disturb_each_other) {
  on_all([](communicator& world) {
    const int next = (world.rank() + 1) % world.size();
    for (int i = 0; i < 30; ++i) {
      int got = -1;
      request r = world.irecv(std::span(&got, 1), any_source, i);
      EXPECT_EQ(world.allreduce(i, std::plus<>{}), i * world.size());
      world.send(i + world.rank(), next, i);
      world.barrier();
      const message_status status = r.wait();
      EXPECT_EQ(got, i + status.source);
    }
  });
}

TEST_P(collectives, on_several_communicators_overlap) {
  on_all([](communicator& world) {
    const communicator rows = *world.split(world.rank() / 3);
    const communicator columns = *world.split(world.rank() % 3);
    const communicator copy = world.dup();
    for (int i = 0; i < 20; ++i) {
      int sum = 0;
      int one = 1;
      request outer = copy.iallreduce(std::span(&one, 1), std::span(&sum, 1), std::plus<>{});
      EXPECT_EQ(rows.allreduce(1, std::plus<>{}), rows.size());
      // Rows and columns are met in another order by every second rank: only what is on one
      // communicator has an order.
      request a = rows.ibarrier();
      request b = columns.ibarrier();
      EXPECT_EQ(columns.allreduce(1, std::plus<>{}), columns.size());
      if (world.rank() % 2 == 0) {
        a.wait();
        b.wait();
      } else {
        b.wait();
        a.wait();
      }
      outer.wait();
      EXPECT_EQ(sum, world.size());
    }
  });
}

// Outputs that begin a block before their input, or a few elements behind it, or with it.
TEST_P(collectives, an_output_may_overlap_its_input) {
  on_all([](communicator& world) {
    const auto n = static_cast<std::size_t>(world.size());
    const auto me = static_cast<std::size_t>(world.rank());
    for (const std::size_t block : {std::size_t{1}, std::size_t{3}, std::size_t{700}}) {
      if (block * n > 15'000) continue;
      const auto place = [&](std::size_t r, std::size_t i) { return r * block + i; };
      const auto block_in = [&](std::vector<std::int64_t>& all, std::size_t at) {
        return std::span(all).subspan(at, block);
      };
      const auto expect_all_blocks = [&](std::span<const std::int64_t> of_all) {
        for (std::size_t r = 0; r < n; ++r)
          for (std::size_t i = 0; i < block; ++i)
            ASSERT_EQ(of_all[place(r, i)], datum(static_cast<int>(r), i));
      };
      for (const std::size_t shift : {std::size_t{0}, std::size_t{1}, block}) {
        std::vector<std::int64_t> turned((n + 1) * block);
        const std::span to_each = std::span(turned).first(n * block);
        const std::span from_each = std::span(turned).subspan(shift, n * block);
        for (std::size_t r = 0; r < n; ++r)
          for (std::size_t i = 0; i < block; ++i)
            to_each[place(r, i)] = datum(world.rank(), i) + static_cast<std::int64_t>(r);
        world.alltoall(to_each, from_each);
        for (std::size_t r = 0; r < n; ++r)
          for (std::size_t i = 0; i < block; ++i)
            ASSERT_EQ(from_each[place(r, i)], datum(static_cast<int>(r), i) + world.rank());
      }
      // Their own block, that of the next rank, and parts of both.
      for (const std::size_t at :
           {me * block, (me + 1) % n * block, (me * block + 1) % (n * block - block + 1)}) {
        const auto mine = data_of(world.rank(), block);
        std::vector<std::int64_t> all(n * block, -1);
        std::ranges::copy(mine, block_in(all, at).begin());
        world.allgather(block_in(all, at), all);
        expect_all_blocks(all);
        for (const int root : {0, world.size() - 1}) {
          std::ranges::fill(all, -1);
          std::ranges::copy(mine, block_in(all, at).begin());
          world.gather(block_in(all, at), all, root);
          if (world.rank() == root) expect_all_blocks(all);
          if (world.rank() == root)
            for (std::size_t r = 0; r < n; ++r)
              std::ranges::copy(data_of(static_cast<int>(r), block),
                                block_in(all, place(r, 0)).begin());
          world.scatter(all, block_in(all, at), root);
          ASSERT_TRUE(std::ranges::equal(block_in(all, at), mine));
        }
      }
    }
    for (const std::size_t count : counts)
      for (const std::size_t shift : {std::size_t{0}, std::size_t{1}, std::size_t{40}}) {
        const auto mine = data_of(world.rank(), count);
        std::vector<std::int64_t> room(count + shift);
        const std::span in = std::span(room).first(count);
        const std::span out = std::span(room).subspan(shift);
        const auto expect_sums = [&](int last) {
          for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(out[i], sum_over(last, i));
        };
        std::ranges::copy(mine, in.begin());
        world.scan(in, out, std::plus<>{});
        expect_sums(world.rank());
        std::ranges::copy(mine, in.begin());
        world.exscan(in, out, std::plus<>{});
        if (world.rank() > 0) expect_sums(world.rank() - 1);
        std::ranges::copy(mine, in.begin());
        world.allreduce(in, out, std::plus<>{});
        expect_sums(world.size() - 1);
      }
  });
}

TEST_P(collectives, a_scan_adds_each_input_once_in_a_process) {
  constexpr std::size_t count = 300;
  const options how = job_of(GetParam().ranks, GetParam().workers, GetParam().map);
  const tests::common_counters added(how, 1);
  on_all([&](communicator& world) {
    const auto plus = [&](std::int64_t a, std::int64_t b) {
      ++added[0];
      return a + b;
    };
    std::vector<std::int64_t> out(count);
    world.scan(data_of(world.rank(), count), out, plus);
    world.exscan(data_of(world.rank(), count), out, plus);
  });
  EXPECT_LE(added[0], 2 * static_cast<int>(count) * (how.ranks - 1) * tests::processes_of(how));
}

INSTANTIATE_TEST_SUITE_P(with, collectives,
                         testing::Values(shape{1, 1, "block"}, shape{2, 1, "block"},
                                         shape{2, 2, "block"}, shape{3, 2, "block"},
                                         shape{7, 3, "cyclic"}, shape{16, 2, "block"},
                                         shape{16, 4, "cyclic"}, shape{12, 12, "block"},
                                         shape{25, 11, "cyclic"}),
                         shape_name);

// Long enough for a share of several blocks, with a rank in each process where there are as many.
TEST(large_reductions, combine_all_inputs_in_order_in_place_and_for_one_root) {
  for (const int ranks : {2, 3, 4})
    run_ranks(ranks, ranks, [](communicator& world) {
      const int last = world.size() - 1;
      for (const std::size_t count : {std::size_t{20'000}, std::size_t{70'001}}) {
        std::vector<std::int64_t> sum(count);
        for (std::size_t i = 0; i < count; ++i) sum[i] = sum_over(last, i);
        std::vector<std::int64_t> out(count, -5);
        world.allreduce(data_of(world.rank(), count), out, std::plus<>{});
        EXPECT_EQ(out, sum);
        auto inout = data_of(world.rank(), count);
        world.allreduce(inout, std::plus<>{});
        EXPECT_EQ(inout, sum);
        for (const int root : {0, last}) {
          std::vector<std::int64_t> at_root(count, -5);
          world.reduce(data_of(world.rank(), count), at_root, std::plus<>{}, root);
          EXPECT_EQ(at_root, world.rank() == root ? sum : std::vector<std::int64_t>(count, -5));
        }
        std::vector<affine> in_order(count);
        world.allreduce(affines_of(world.rank(), count), in_order, non_commutative(&then));
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(in_order[i], affine_over(0, last, i));
      }
    });
}

TEST(many_ranks, meet_in_every_collective) {
  constexpr int ranks = sanitized ? 60 : 1000;
  for (const char* map : {"block", "cyclic"}) {
    run_ranks(job_of(ranks, 3, map), [](communicator& world) {
      const int n = world.size();
      EXPECT_EQ(world.allreduce(world.rank(), std::plus<>{}), n * (n - 1) / 2);
      EXPECT_EQ(world.bcast(world.rank(), n / 3), n / 3);
      EXPECT_EQ(world.scan(1, std::plus<>{}), world.rank() + 1);
      EXPECT_EQ(world.allgather(world.rank()).back(), n - 1);
      std::vector<int> in(static_cast<std::size_t>(n), world.rank());
      const std::vector<int> out = world.alltoall(in);
      for (int r = 0; r < n; ++r) ASSERT_EQ(out[static_cast<std::size_t>(r)], r);
      world.barrier();
    });
  }
}

// Parts that do not fit in a dropbox, of ranks so many that each worker puts those of its own in a row.
TEST(many_ranks, gather_small_parts_again_and_again) {
  struct part {
    std::array<std::int64_t, 5> values;
    bool operator==(const part&) const = default;
  };
  for (const int workers : {1, 2})
    for (const char* map : {"block", "cyclic"})
      run_ranks(job_of(80, workers, map), [](communicator& world) {
        const communicator backward = *world.split(world.rank() % 8 == 0 ? 1 : 0, -world.rank());
        for (const communicator& c : {world, backward})
          for (int round = 0; round < 10; ++round) {
            const auto of = [&](int rank) {
              part p{};
              p.values.fill(100 * round + rank);
              return p;
            };
            if ((c.rank() + round) % 7 == 0) yield();
            const std::vector<part> all = c.allgather(of(c.rank()));
            std::vector<std::int64_t> pairs(static_cast<std::size_t>(4 * c.size()));
            c.allgather(std::vector<std::int64_t>(4, c.rank() + round), pairs);
            for (int r = 0; r < c.size(); ++r) {
              ASSERT_EQ(all[static_cast<std::size_t>(r)], of(r));
              ASSERT_EQ(pairs[static_cast<std::size_t>(4 * r) + 3], r + round);
            }
          }
      });
}

TEST(small_broadcasts, in_a_long_row_with_changing_roots_lose_nothing) {
  run_ranks(6, 3, [](communicator& world) {
    for (int i = 0; i < 500; ++i) {
      const int root = i * 5 % 6;
      EXPECT_EQ(world.bcast(world.rank() == root ? i : -1, root), i);
      if (i % 50 == world.rank()) yield();
    }
  });
}

// Roots wait for nobody; the slot tells all but the first that it has been taken.
TEST(small_broadcasts, with_several_roots_are_reported_at_once) {
  for (const int workers : {1, 3})
    for (int round = 0; round < 20; ++round) {
      const failed_job job = run_to_failure(job_of(3, workers), [&](communicator& world) {
        for (int i = 0; i < round; ++i) (void)world.bcast(i, i % 3);
        EXPECT_EQ(world.bcast(world.rank(), world.rank()), world.rank());
        // Nothing that could find it later.
        if (world.rank() == 0) (void)world.recv<int>(1);
      });
      EXPECT_EQ(job.status, 1);
      expect_contains(job.text, "collective mismatch on communicator 0");
      expect_contains(job.text, "calls bcast of 4 bytes with root");
      expect_contains(job.text, ", but rank");
    }
}

// Nobody publishes: 0 and 1 take each other for the root, the others wait for another message.
TEST(small_broadcasts, without_a_root_are_reported_while_others_work) {
  for (const int workers : {1, 2, 4})
    for (int round = 0; round < 10; ++round) {
      const failed_job job = run_to_failure(job_of(4, workers), [&](communicator& world) {
        for (int i = 0; i < round; ++i) (void)world.bcast(i, i % 4);
        if (world.rank() >= 2)
          for (;;) yield();
        (void)world.bcast(1, 1 - world.rank());
      });
      EXPECT_EQ(job.status, 1);
      expect_contains(job.text, "collective mismatch on communicator 0");
      expect_contains(job.text, "rank 0 calls bcast of 4 bytes with root 1");
      expect_contains(job.text, "rank 1 calls bcast of 4 bytes with root 0");
    }
}

}  // namespace
}  // namespace weft
