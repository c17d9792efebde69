// Random trees of tasks that spawn, wait, throw and set futures of each other, with several workers and in seeded
// schedules; every task must run once, and every value arrive.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>
#include <weft/loop.hpp>
#include <weft/options.hpp>
#include <weft/tasks.hpp>

#include "stress/stress.hpp"

namespace weft {
namespace {

using random_numbers = std::minstd_rand;

// The number of tasks of the tree, and what its coroutines and futures add up to.
future<long> awaited(future<long> value) {
  co_return co_await value;
}

long tree(std::uint32_t seed, int depth, std::atomic<long>& count) {
  random_numbers random(seed);
  ++count;
  if (depth == 0) return 1;
  long sum = 1;
  const auto children = static_cast<std::size_t>(random() % 4);
  std::vector<std::uint32_t> seeds;
  for (std::size_t i = 0; i < children; ++i) seeds.push_back(static_cast<std::uint32_t>(random()));
  switch (random() % 5) {
    case 0: {
      std::vector<long> sums(children);
      task_group all;
      for (std::size_t i = 0; i < children; ++i)
        all.spawn([&, i] { sums[i] = tree(seeds[i], depth - 1, count); },
                  random() % 3 == 0 ? priority::high : priority::normal);
      all.wait();
      for (const long one : sums) sum += one;
      break;
    }
    case 1: {
      std::vector<future<long>> all;
      for (std::size_t i = 0; i < children; ++i)
        all.push_back(spawn([&, s = seeds[i]] { return tree(s, depth - 1, count); }));
      for (future<long>& one : when_all(std::move(all)).get()) sum += one.get();
      break;
    }
    case 2: {
      std::vector<future<long>> all;
      for (std::size_t i = 0; i < children; ++i)
        all.push_back(awaited(spawn([&, s = seeds[i]] {
                                return tree(s, depth - 1, count);
                              }).then([](long x) { return x; })));
      for (future<long>& one : all) sum += one.get();
      break;
    }
    case 3: {
      // Each sends its sum along a chain, against the order in which they begin.
      std::vector<promise<long>> links(children + 1);
      std::vector<future<long>> ends;
      for (promise<long>& one : links) ends.push_back(one.get_future());
      task_group all;
      for (std::size_t i = 0; i < children; ++i)
        all.spawn([&, i] {
          const long own = tree(seeds[i], depth - 1, count);
          links[i].set_value(ends[i + 1].get() + own);
        });
      links[children].set_value(0);
      sum += ends[0].get();
      all.wait();
      break;
    }
    default: {
      std::atomic<long> of_chunks = 0;
      parallel_for(0, children, [&](std::size_t) { ++of_chunks; }, {.grain = 1});
      EXPECT_EQ(of_chunks, static_cast<long>(children));
      task_group all;
      for (std::size_t i = 0; i < children; ++i)
        all.spawn([&, i] {
          of_chunks += tree(seeds[i], depth - 1, count) - 1;
          if (i == 0) throw seeds[0];
        });
      try {
        all.wait();
        sum += of_chunks;
      } catch (const std::uint32_t thrown) {
        EXPECT_EQ(thrown, seeds[0]);
        return -1'000'000;  // Some of the others may not have begun.
      }
    }
  }
  return sum;
}

TEST(task_stress, every_task_of_a_random_tree_runs_once) {
  const stress::run run;
  random_numbers random = run.random(0);
  for (int round = 0; run.time_left(); ++round) {
    options how;
    how.pin = false;
    how.timeout_s = 60;
    how.spin_us = static_cast<int>(random() % 60);
    how.workers = 1 + static_cast<int>(random() % 5);
    if (round % 3 == 0) {
      how.workers = 1;
      how.schedule = random();
    }
    const auto seed = static_cast<std::uint32_t>(random());
    const int status = run_tasks(how, [seed] {
      for (std::uint32_t i = 0; i < 30; ++i) {
        std::atomic<long> count = 0;
        const long sum = tree(seed + i, 6, count);
        EXPECT_TRUE(sum < 0 || sum == count) << sum << " of " << count;
      }
    });
    ASSERT_EQ(status, 0) << "tree of " << seed;
  }
}

}  // namespace
}  // namespace weft
