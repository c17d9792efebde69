// Random traffic of all kinds at once, more workers than cores. The seed is printed and is taken
// from WEFT_SEED when that is set. TEST_JOBS says how many jobs instead of for how long; processes that
// weftrun has started need that, and a common seed, to make the same ones: TEST_SEED.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "job.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;

std::uint64_t seed_of_this_run() {
  const char* given = std::getenv("WEFT_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10)
      : tests::is_started()
          ? static_cast<std::uint64_t>(tests::number_of_environment("TEST_SEED", 1))
          : std::random_device{}();
  std::printf("WEFT_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  return seed;
}

// All ranks draw the same numbers from the same seed, so each knows what the others do.
using generator = std::mt19937_64;

std::size_t random_size(generator& g) {
  switch (g() % 8) {
    case 0:
      return 0;
    case 1:
      return 4096 + g() % 3;
    case 2:
      return 30'000 + g() % 10'000;
    case 3:
      return g() % 300'000;
    default:
      return g() % 200;
  }
}

std::vector<char> filled(std::size_t bytes, std::uint64_t key) {
  std::vector<char> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(key + i * 7);
  return data;
}

// A round of messages between random pairs, sent and received in random ways.
void exchange(communicator& world, generator& common, generator& own) {
  struct planned {
    int from, to, tag;
    std::size_t bytes;
    std::uint64_t key;
  };
  // Tags of this round alone: a wildcard must not take a message of a rank that is ahead.
  const int first_tag = static_cast<int>(common() % 50'000'000) * 20;
  std::vector<planned> plan(20);
  for (std::size_t i = 0; i < plan.size(); ++i)
    plan[i] = {static_cast<int>(common() % static_cast<unsigned>(world.size())),
               static_cast<int>(common() % static_cast<unsigned>(world.size())),
               first_tag + static_cast<int>(i), random_size(common), common()};
  std::vector<std::vector<char>> in(plan.size()), out(plan.size());
  std::vector<request> all;
  std::vector<std::size_t> late;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const planned& p = plan[i];
    if (p.to != world.rank()) continue;
    in[i].resize(p.bytes);
    if (own() % 2 == 0)
      all.push_back(world.irecv(in[i], own() % 2 == 0 ? p.from : any_source, p.tag));
    else
      late.push_back(i);
  }
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const planned& p = plan[i];
    if (p.from != world.rank()) continue;
    out[i] = filled(p.bytes, p.key);
    switch (own() % 4) {
      case 0:
        all.push_back(world.issend(out[i], p.to, p.tag));
        break;
      case 1:
        world.bsend(out[i], p.to, p.tag);
        break;
      default:
        all.push_back(world.isend(out[i], p.to, p.tag));
    }
  }
  std::shuffle(late.begin(), late.end(), own);
  for (const std::size_t i : late) {
    const planned& p = plan[i];
    switch (own() % 3) {
      case 0:
        world.recv(in[i], p.from, p.tag);
        break;
      case 1:
        while (!world.iprobe(p.from, p.tag)) {
        }
        in[i] = world.recv_vector<char>(p.from, p.tag);
        break;
      default: {
        message m = world.mprobe(any_source, p.tag);
        if (own() % 2 == 0) yield();
        m.recv(in[i]);
      }
    }
  }
  if (own() % 2 == 0) {
    wait_all(all);
  } else {
    while (wait_any(all) != all.size()) {
    }
  }
  for (std::size_t i = 0; i < plan.size(); ++i)
    if (plan[i].to == world.rank() && in[i] != filled(plan[i].bytes, plan[i].key))
      throw std::runtime_error("message " + std::to_string(i) + " of " +
                               std::to_string(plan[i].bytes) + " bytes is wrong");
}

void meet(communicator& world, generator& common) {
  const auto count = static_cast<std::size_t>(random_size(common) / 8);
  const int root = static_cast<int>(common() % static_cast<unsigned>(world.size()));
  const auto n = static_cast<std::uint64_t>(world.size());
  const auto check = [](bool good, const char* what) {
    if (!good) throw std::runtime_error(std::string(what) + " is wrong");
  };
  std::vector<std::uint64_t> data(count, static_cast<std::uint64_t>(world.rank()));
  std::vector<std::uint64_t> result(count);
  switch (common() % 7) {
    case 0:
      world.barrier();
      break;
    case 1:
      world.allreduce(data, result, std::plus<>{});
      check(result == std::vector(count, n * (n - 1) / 2), "allreduce");
      break;
    case 2:
      world.bcast(data, root);
      check(data == std::vector(count, static_cast<std::uint64_t>(root)), "bcast");
      break;
    case 3: {
      request r = world.iallreduce(data, result, max{});
      check(world.scan(std::uint64_t{1}, std::plus<>{}) ==
                static_cast<std::uint64_t>(world.rank()) + 1,
            "scan");
      r.wait();
      check(result == std::vector(count, n - 1), "iallreduce");
      break;
    }
    case 4: {
      const auto all =
          world.allgatherv(std::vector(static_cast<std::size_t>(world.rank()) % 3, root));
      check(std::ranges::all_of(all, [&](int v) { return v == root; }), "allgatherv");
      break;
    }
    case 5: {
      const communicator part = *world.split(world.rank() % 2, -world.rank());
      check(part.allreduce(world.rank() % 2, std::plus<>{}) == (world.rank() % 2) * part.size(),
            "allreduce of a part");
      break;
    }
    default: {
      std::vector<int> in(n, world.rank());
      const auto out = world.alltoall(in);
      for (std::size_t r = 0; r < n; ++r) check(out[r] == static_cast<int>(r), "alltoall");
    }
  }
}

void share_a_loop(communicator& world, generator& own) {
  const std::size_t n = own() % 500;
  const std::size_t fails = own() % 4 == 0 && n > 0 ? own() % n : n;
  std::atomic<std::size_t> sum{0};
  try {
    parallel_for(0, n,
                 [&](std::size_t i) {
                   if (i == fails) throw std::out_of_range("planned");
                   parallel_for(0, i % 3, [&](std::size_t) {}, {.grain = 1});
                   sum += i + static_cast<std::size_t>(this_rank() - world.rank());
                 },
                 {.grain = 1 + own() % 8,
                  .stealable = true,
                  .mode = own() % 2 == 0 ? chunk_mode::guided : chunk_mode::single});
    if (fails != n) throw std::runtime_error("the exception of a chunk was lost");
  } catch (const std::out_of_range&) {
    return;
  }
  if (sum != (n == 0 ? 0 : n * (n - 1) / 2)) throw std::runtime_error("a loop is wrong");
}

// One job of some rounds; every rank draws its own numbers beside the common ones.
void one_job(const options& how, std::uint64_t seed) {
  run_ranks(how, [&](communicator& world) {
    generator common(seed);
    generator own(seed * 1000 + static_cast<std::uint64_t>(world.rank()));
    const std::uint64_t rounds = 5 + common() % 20;
    for (std::uint64_t i = 0; i < rounds; ++i) {
      switch (common() % 3) {
        case 0:
          exchange(world, common, own);
          break;
        case 1:
          meet(world, common);
          break;
        default:
          share_a_loop(world, own);
      }
      if (own() % 16 == 0) sleep_for(std::chrono::microseconds(own() % 200));
    }
  });
}

template <class Job>
void repeat_for(std::chrono::milliseconds duration, const Job& job) {
  generator seeds(seed_of_this_run());
  const auto until = std::chrono::steady_clock::now() + duration;
  const int jobs = tests::number_of_environment("TEST_JOBS", tests::is_started() ? 10 : 0);
  int made = 0;
  const auto goes_on = [&] {
    return jobs > 0 ? made++ < jobs : std::chrono::steady_clock::now() < until;
  };
  while (goes_on() && !testing::Test::HasFailure()) {
    const std::uint64_t seed = seeds();
    SCOPED_TRACE("job of seed " + std::to_string(seed));
    job(seed);
  }
}

TEST(random_traffic, of_all_kinds_arrives_on_more_workers_than_cores) {
  repeat_for(4s, [](std::uint64_t seed) {
    generator g(seed);
    options how = job_of(1 + static_cast<int>(g() % 12), 1 + static_cast<int>(g() % 4),
                         g() % 2 == 0 ? "block" : "cyclic");
    how.helpers = static_cast<int>(g() % 2);
    how.spin_us = g() % 2 == 0 ? 0 : 50;
    how.steal = std::array{"random", "near", "sticky"}[g() % 3];
    one_job(how, seed);
  });
}

TEST(random_traffic, of_all_kinds_arrives_in_every_seeded_schedule) {
  if (tests::is_started()) GTEST_SKIP() << "a schedule is of one process";
  repeat_for(2s, [](std::uint64_t seed) {
    options how = job_of(2 + static_cast<int>(seed % 5), 0);
    how.workers = 0;
    how.schedule = seed;
    one_job(how, seed);
  });
}

TEST(random_traffic, of_several_jobs_at_once_stays_apart) {
  if (tests::is_started()) GTEST_SKIP() << "processes make their jobs one after the other";
  repeat_for(2s, [](std::uint64_t seed) {
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 3; ++t)
      threads.emplace_back([=] { one_job(job_of(4, 1 + static_cast<int>(t)), seed + t); });
    for (std::thread& t : threads) t.join();
  });
}

// Whatever the others are doing, the first exception ends the job with its text and nothing is
// touched that has gone.
TEST(an_exception, at_any_time_of_random_traffic_ends_the_job) {
  repeat_for(4s, [](std::uint64_t seed) {
    generator g(seed);
    const int ranks = 2 + static_cast<int>(g() % 8);
    const int culprit = static_cast<int>(g() % static_cast<unsigned>(ranks));
    const std::uint64_t last = g() % 30;
    options how = job_of(ranks, 1 + static_cast<int>(g() % 4));
    how.spin_us = g() % 2 == 0 ? 0 : 50;
    const failed_job job = run_to_failure(how, [&](communicator& world) {
      generator common(seed);
      generator own(seed * 1000 + static_cast<std::uint64_t>(world.rank()));
      for (std::uint64_t i = 0;; ++i) {
        if (world.rank() == culprit && i == last) throw std::runtime_error("planned");
        switch (common() % 3) {
          case 0:
            exchange(world, common, own);
            break;
          case 1:
            meet(world, common);
            break;
          default:
            share_a_loop(world, own);
        }
      }
    });
    ASSERT_EQ(job.status, 1);
    ASSERT_EQ(job.text, "weft: rank " + std::to_string(culprit) + ": planned\n");
  });
}

// Each ends in a report that is right: never too early, never missing.
TEST(a_deadlock, after_random_traffic_is_found_every_time) {
  repeat_for(3s, [](std::uint64_t seed) {
    generator g(seed);
    const int ranks = 2 + static_cast<int>(g() % 6);
    options how = job_of(ranks, 1 + static_cast<int>(g() % 4));
    how.spin_us = g() % 2 == 0 ? 0 : 20;
    const failed_job job = run_to_failure(how, [&](communicator& world) {
      generator common(seed);
      generator own(seed * 1000 + static_cast<std::uint64_t>(world.rank()));
      for (int i = 0; i < 3; ++i) exchange(world, common, own);
      (void)world.recv<int>((world.rank() + 1) % world.size(), 4711);
    });
    ASSERT_EQ(job.status, 1);
    for (int r = 0; r < ranks; ++r)
      expect_contains(job.text, "rank " + std::to_string(r) + ": in recv, source " +
                                    std::to_string((r + 1) % ranks) + ", tag 4711");
    expect_contains(job.text, "cycle: ");
  });
}

}  // namespace
}  // namespace weft
