// Loop tasks: which indices run, whose rank they see, what they may do, and how failures come back.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/limits.hpp"
#include "job.hpp"
#include "sched/worker.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;

struct kind_of_stealing {
  const char* steal;
  const char* chunks;
  int ranks;
  int workers;
  int helpers;
};

class loops : public testing::TestWithParam<kind_of_stealing> {
 protected:
  static options job() {
    const kind_of_stealing& k = GetParam();
    options how = job_of(k.ranks, k.workers);
    how.steal = k.steal;
    how.chunks = k.chunks;
    how.helpers = k.helpers;
    how.spin_us = 200;
    return how;
  }
  static void on_all(const std::function<void(communicator&)>& body) { run_ranks(job(), body); }
};

TEST_P(loops, run_each_index_once) {
  on_all([](communicator& world) {
    for (const std::size_t n : {0u, 1u, 2u, 63u, 64u, 65u, 1000u, 4097u})
      for (const std::size_t grain : {0u, 1u, 7u, 5000u})
        for (const chunk_mode mode :
             {chunk_mode::automatic, chunk_mode::guided, chunk_mode::single}) {
          std::vector<std::atomic<int>> hits(n);
          parallel_for(10, 10 + n, [&](std::size_t i) { ++hits.at(i - 10); },
                       {.grain = grain, .stealable = true, .mode = mode});
          ASSERT_TRUE(std::ranges::all_of(hits, [](const auto& h) { return h == 1; }));
        }
    world.barrier();
  });
}

TEST_P(loops, over_boxes_run_each_point_once) {
  on_all([](communicator& world) {
    constexpr std::size_t nx = 13, ny = 7, nz = 5;
    std::vector<std::atomic<int>> flat(nx * ny);
    parallel_for({nx, ny}, [&](std::size_t i, std::size_t j) { ++flat.at(i * ny + j); });
    std::vector<std::atomic<int>> box(nx * ny * nz);
    parallel_for(
        {nx, ny, nz},
        [&](std::size_t i, std::size_t j, std::size_t k) { ++box.at((i * ny + j) * nz + k); },
        {.grain = 3});
    EXPECT_TRUE(std::ranges::all_of(flat, [](const auto& h) { return h == 1; }));
    EXPECT_TRUE(std::ranges::all_of(box, [](const auto& h) { return h == 1; }));
    // Chunks that begin and end in the middle of a row, of several rows, of single points.
    for (const std::size_t grain : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 34u, 35u, 36u, 455u})
      for (const chunk_mode mode : {chunk_mode::guided, chunk_mode::single}) {
        const loop_options how{.grain = grain, .stealable = true, .mode = mode};
        std::ranges::fill(flat, 0);
        std::ranges::fill(box, 0);
        parallel_for(
            {nx, ny}, [&](std::size_t i, std::size_t j) { ++flat.at(i * ny + j); }, how);
        parallel_for(
            {nx, ny, nz}, [&](auto i, auto j, auto k) { ++box.at((i * ny + j) * nz + k); }, how);
        ASSERT_TRUE(std::ranges::all_of(flat, [](const auto& h) { return h == 1; })) << grain;
        ASSERT_TRUE(std::ranges::all_of(box, [](const auto& h) { return h == 1; })) << grain;
      }
    parallel_for({nx, 0}, [&](std::size_t, std::size_t) { ADD_FAILURE(); });
    parallel_for({0, 3, 3}, [&](std::size_t, std::size_t, std::size_t) { ADD_FAILURE(); });
    world.barrier();
  });
}

TEST_P(loops, reduce_to_the_same_bits_whoever_runs_which_chunk) {
  on_all([](communicator& world) {
    const auto sum = [] {
      return parallel_reduce(1, 20'000, 0.0,
                             [](range_1d part) {
                               double s = 0;
                               for (std::size_t i = part.begin; i < part.end; ++i)
                                 s += 1.0 / static_cast<double>(i);
                               return s;
                             },
                             std::plus<>{}, {.grain = 100});
    };
    const double first = sum();
    EXPECT_NEAR(first, 10.48, 0.01);
    for (int i = 0; i < 20; ++i) {
      world.barrier();
      ASSERT_EQ(sum(), first);
    }
    EXPECT_EQ(parallel_reduce(
                  5, 5, 42, [](range_1d) { return 1; }, std::plus<>{}),
              42);
  });
}

TEST_P(loops, show_every_chunk_its_owner_as_this_rank) {
  on_all([](communicator& world) {
    for (int round = 0; round < 10; ++round) {
      parallel_for(0, 100,
                   [&](std::size_t) {
                     EXPECT_EQ(this_rank(), world.rank());
                     EXPECT_EQ(world_size(), world.size());
                   },
                   {.grain = 1});
      world.barrier();
      EXPECT_EQ(this_rank(), world.rank());
    }
  });
}

TEST_P(loops, throw_the_first_exception_of_a_chunk_to_their_owner) {
  on_all([](communicator& world) {
    for (int round = 0; round < 20; ++round) {
      std::atomic<int> ran{0};
      try {
        parallel_for(0, 200,
                     [&](std::size_t i) {
                       ++ran;
                       if (i % 50 == 17)
                         throw std::out_of_range("rank " + std::to_string(world.rank()) +
                                                 " index " + std::to_string(i));
                     },
                     {.grain = 1});
        ADD_FAILURE() << "nothing was thrown";
      } catch (const std::out_of_range& e) {
        expect_contains(e.what(), "rank " + std::to_string(world.rank()) + " index ");
      }
      EXPECT_LE(ran, 200);
      // The next loop is as good as new.
      EXPECT_EQ(parallel_reduce(
                    0, 64, 0, [](range_1d r) { return static_cast<int>(r.size()); }, std::plus<>{}),
                64);
    }
    world.barrier();
  });
}

TEST_P(loops, may_be_nested_in_chunks_deeper_than_any_slot) {
  on_all([](communicator& world) {
    for (int round = 0; round < 5; ++round) {
      std::atomic<int> leaves{0};
      std::function<void(int)> descend = [&](int depth) {
        EXPECT_EQ(this_rank(), world.rank());
        if (depth == 0) {
          ++leaves;
          return;
        }
        parallel_for(0, depth > 9 ? 3 : 1, [&](std::size_t) { descend(depth - 1); }, {.grain = 1});
        parallel_for(0, 2, [&](std::size_t) {}, {.grain = 1});
      };
      descend(12);
      EXPECT_EQ(leaves, 27);
    }
    world.barrier();
  });
}

TEST_P(loops, as_tasks_take_raw_chunks_an_argument_and_a_new_count) {
  on_all([](communicator& world) {
    std::vector<std::atomic<int>> hits(40);
    loop_task plain(40, [&](std::size_t first, std::size_t last) {
      for (std::size_t c = first; c < last; ++c) ++hits.at(c);
    });
    plain.execute();
    plain.execute();
    EXPECT_TRUE(std::ranges::all_of(hits, [](const auto& h) { return h == 2; }));
    plain.set_chunks(10);
    EXPECT_EQ(plain.chunks(), 10u);
    plain.execute();
    EXPECT_EQ(std::accumulate(hits.begin(), hits.end(), 0), 90);

    struct argument {
      int factor;
      std::array<std::atomic<int>, 16> out{};
    };
    loop_task with_argument(16, [](std::size_t first, std::size_t last, argument& a) {
      for (std::size_t c = first; c < last; ++c) a.out[c] = a.factor * static_cast<int>(c);
    });
    for (int factor = 1; factor < 10; ++factor) {
      argument a{factor};
      with_argument.execute(a);
      for (std::size_t c = 0; c < 16; ++c) EXPECT_EQ(a.out[c], factor * static_cast<int>(c));
    }
    std::atomic<int> sum = 0;
    loop_task with_temporary(16, [&](std::size_t first, std::size_t last, const int& factor) {
      sum += factor * static_cast<int>(last - first);
    });
    with_temporary.execute(5);
    EXPECT_EQ(sum, 80);
    world.barrier();
  });
}

TEST_P(loops, of_uneven_work_are_shared_with_ranks_that_wait) {
  if (tests::workers_of_process(job()) + GetParam().helpers < 2)
    GTEST_SKIP() << "nobody could steal";
  on_all([&](communicator& world) {
    // Only rank 0 has work; it goes on until another thread has run a chunk of it.
    if (world.rank() == 0) {
      const std::thread::id mine = std::this_thread::get_id();
      std::atomic<bool> stolen{false};
      while (!stolen)
        parallel_for(0, 100,
                     [&](std::size_t) {
                       if (std::this_thread::get_id() != mine) stolen = true;
                       std::this_thread::sleep_for(20us);
                     },
                     {.grain = 1});
    }
    world.barrier();
  });
}

TEST_P(loops, reduce_over_single_indices_in_their_order) {
  on_all([](communicator& world) {
    EXPECT_EQ(parallel_reduce(
                  3, 1000, 0L, [](std::size_t i) { return static_cast<long>(i); }, std::plus<>{}),
              499'497);
    const auto joined = [](const std::string& a, const std::string& b) { return a + b; };
    const auto digit = [](auto i) { return std::to_string(i % 10); };
    for (const std::size_t grain : {0u, 1u, 7u, 100u})
      EXPECT_EQ(parallel_reduce(8, 23, std::string(), digit, joined, {.grain = grain}),
                "890123456789012");
    EXPECT_EQ(parallel_reduce(5, 5, std::string("nothing"), digit, joined), "nothing");
    world.barrier();
  });
}

TEST(a_body, may_be_generic_or_take_an_index_or_a_range) {
  run_ranks(1, 1, [](communicator&) {
    std::vector<int> hits(100);
    parallel_for(0, 100, [&](auto i) { ++hits[i]; });
    parallel_for(0, 100, [&](range_1d part) {
      for (std::size_t i = part.begin; i < part.end; ++i) ++hits[i];
    });
    parallel_for(0, 100, [&](std::same_as<range_1d> auto part) {
      for (std::size_t i = part.begin; i < part.end; ++i) ++hits[i];
    });
    EXPECT_EQ(hits, std::vector<int>(100, 3));
  });
}

// The points of a box in the order in which the one chunk of a loop runs them.
TEST(a_loop_over_a_box, runs_the_points_of_a_chunk_in_row_major_order) {
  run_ranks(1, 1, [](communicator&) {
    std::vector<std::array<std::size_t, 3>> order;
    const auto note = [&](std::size_t i, std::size_t j, std::size_t k) {
      order.push_back({i, j, k});
    };
    parallel_for({2, 3, 4}, note, {.grain = 24});
    EXPECT_EQ(order.size(), 24u);
    EXPECT_TRUE(std::ranges::is_sorted(order));
    order.clear();
    parallel_for({5, 2}, [&](std::size_t i, std::size_t j) { note(0, i, j); }, {.grain = 10});
    EXPECT_EQ(order.size(), 10u);
    EXPECT_TRUE(std::ranges::is_sorted(order));
  });
}

INSTANTIATE_TEST_SUITE_P(with, loops,
                         testing::Values(kind_of_stealing{"random", "guided", 1, 1, 0},
                                         kind_of_stealing{"random", "guided", 2, 2, 0},
                                         kind_of_stealing{"near", "single", 4, 2, 0},
                                         kind_of_stealing{"sticky", "guided", 3, 3, 0},
                                         kind_of_stealing{"random", "single", 8, 4, 0},
                                         kind_of_stealing{"random", "guided", 1, 1, 2},
                                         kind_of_stealing{"sticky", "single", 2, 2, 1}),
                         [](const auto& p) {
                           return std::string(p.param.steal) + "_" + p.param.chunks + "_" +
                                  std::to_string(p.param.ranks) + "_ranks_" +
                                  std::to_string(p.param.workers) + "_workers_" +
                                  std::to_string(p.param.helpers) + "_helpers";
                         });

// The sizes of the owner's claims of a loop of 64 chunks that nobody helps with.
std::vector<std::size_t> claims_of_owner(const char* chunks, chunk_mode mode) {
  std::vector<std::size_t> claims;
  options how = alone(job_of(2, 2));
  how.chunks = chunks;
  std::atomic<bool> has_ended{false};
  run_ranks(how, [&](communicator& world) {
    world.barrier();
    if (world.rank() == 0) {
      loop_task all(64, [&](std::size_t first, std::size_t end) { claims.push_back(end - first); },
                    {.mode = mode});
      all.execute();
      has_ended = true;
    } else {
      while (!has_ended) std::this_thread::yield();  // In code of its own, so it steals nothing.
    }
    world.barrier();
  });
  return claims;
}

TEST(the_owner_of_a_loop, claims_one_chunk_when_single_and_many_at_first_when_guided) {
  const std::vector<std::pair<const char*, chunk_mode>> single{{"single", chunk_mode::automatic},
                                                               {"guided", chunk_mode::single}};
  for (const auto& [chunks, mode] : single)
    EXPECT_EQ(std::ranges::max(claims_of_owner(chunks, mode)), 1u) << chunks;
  const std::vector<std::pair<const char*, chunk_mode>> guided{{"guided", chunk_mode::automatic},
                                                               {"single", chunk_mode::guided}};
  for (const auto& [chunks, mode] : guided) {
    const auto claims = claims_of_owner(chunks, mode);
    ASSERT_FALSE(claims.empty()) << chunks;
    EXPECT_EQ(std::accumulate(claims.begin(), claims.end(), std::size_t{0}), 64u) << chunks;
    EXPECT_GT(std::ranges::max(claims), 4u) << chunks;
    EXPECT_EQ(claims.back(), 1u) << chunks;
  }
}

// --- What a chunk may not do
// -----------------------------------------------------------------------

// Runs `forbidden` in every chunk, of the owner and of a thief, and wants the same error from both.
void expect_refused(const std::string& call, const std::function<void(communicator&)>& forbidden) {
  for (const int workers : {1, 2}) {
    run_ranks(2, workers, [&](communicator& world) {
      if (world.rank() == 0) {
        std::atomic<int> refused{0};
        parallel_for(0, 20,
                     [&](std::size_t) {
                       const std::string text = error_of([&] { forbidden(world); });
                       expect_contains(text, call);
                       expect_contains(text, "chunk of a loop");
                       expect_contains(text, "before or after the loop");
                       ++refused;
                     },
                     {.grain = 1});
        EXPECT_EQ(refused, 20);
      }
      world.barrier();
    });
  }
}

TEST(a_chunk, that_sends_is_refused) {
  expect_refused("send", [](communicator& world) { world.send(1, 0); });
}
TEST(a_chunk, that_receives_is_refused) {
  expect_refused("recv", [](communicator& world) { (void)world.recv<int>(); });
}
TEST(a_chunk, that_probes_is_refused) {
  expect_refused("iprobe", [](communicator& world) { (void)world.iprobe(); });
}
TEST(a_chunk, that_calls_a_collective_is_refused) {
  expect_refused("barrier", [](communicator& world) { world.barrier(); });
  expect_refused("allreduce", [](communicator& world) { (void)world.allreduce(1, max{}); });
  expect_refused("non-blocking collective", [](communicator& world) { (void)world.ibarrier(); });
}
TEST(a_chunk, that_sleeps_is_refused) {
  expect_refused("sleep_for", [](communicator&) { sleep_for(1ms); });
  expect_refused("yield", [](communicator&) { yield(); });
}

TEST(a_chunk, that_waits_for_a_request_of_its_rank_is_refused) {
  run_ranks(1, 1, [](communicator& world) {
    int got = 0;
    request r = world.irecv(std::span(&got, 1), 0);
    parallel_for(0, 2, [&](std::size_t) {
      expect_contains(error_of([&] { r.wait(); }), "wait was called by a chunk of a loop");
      expect_contains(error_of([&] { (void)r.test(); }), "test was called by a chunk of a loop");
    });
    world.send(1, 0);
    r.wait();
  });
}

TEST(a_chunk, that_waits_for_several_requests_leaves_their_failures_to_be_thrown) {
  testing::internal::CaptureStderr();
  run_ranks(alone(job_of(1, 1)), [](communicator& world) {
    std::array<int, 2> got{};
    std::array<request, 2> both{world.irecv(got[0], 0, 1), world.irecv(got[1], 0, 2)};
    world.send(1.0, 0, 1);  // Too long.
    parallel_for(0, 2, [&](std::size_t) {
      expect_contains(error_of([&] { wait_all(both); }),
                      "wait_all was called by a chunk of a loop");
    });
    world.send(1, 0, 2);
    expect_contains(error_of([&] { wait_all(both); }), "got a message of 8 bytes");
  });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(a_chunk, that_is_refused_ends_the_job_with_the_owners_rank_when_nobody_catches_it) {
  const failed_job job = run_to_failure(job_of(2, 2), [](communicator& world) {
    if (world.rank() == 1) parallel_for(0, 8, [&](std::size_t) { world.barrier(); });
    world.barrier();
  });
  EXPECT_EQ(job.status, 1);
  expect_contains(job.text, "weft: rank 1: barrier was called by a chunk of a loop");
}

TEST(a_loop, outside_of_ranks_is_refused) {
  expect_contains(error_of([] { parallel_for(0, 10, [](std::size_t) {}); }),
                  "a loop was started outside of a rank");
}

TEST(a_loop, longer_than_its_indices_count_is_refused) {
  constexpr std::size_t large = std::size_t{1} << 32, half = std::size_t{1} << 63;
  run_ranks(1, 1, [](communicator&) {
    const auto two = [](std::size_t, std::size_t) { ADD_FAILURE() << "a point was run"; };
    const auto three = [](std::size_t, std::size_t, std::size_t) { ADD_FAILURE(); };
    const auto one = [](range_1d) { ADD_FAILURE() << "a part was run"; };
    EXPECT_EQ(error_of([&] {
                parallel_for({large, large}, two);
              }),
              "a loop over 4294967296 x 4294967296 indices: the limit is 9223372036854775807; run "
              "several shorter loops");
    expect_contains(error_of([&] {
                      parallel_for({large, 1, half}, three);
                    }),
                    "a loop over 4294967296 x 1 x 9223372036854775808 indices");
    expect_contains(error_of([&] {
                      parallel_for({large, large, 2}, three);
                    }),
                    "4294967296 x 4294967296 x 2 indices");
    parallel_for({large, large, 0}, three);
    expect_contains(error_of([&] { parallel_for(0, half, one); }), "over 9223372036854775808");
    expect_contains(error_of([&] {
                      (void)parallel_reduce(
                          1, half + 1, 0, [](range_1d) { return 1; }, std::plus<>{});
                    }),
                    "over 9223372036854775808");
    loop_task task(half, [](std::size_t, std::size_t) { ADD_FAILURE() << "a chunk was run"; });
    expect_contains(error_of([&] { task.execute(); }),
                    "a loop of 9223372036854775808 chunks: the limit is 9223372036854775807");
  });
}

TEST(a_loop, whose_end_was_negative_says_that_it_may_have_been) {
  run_ranks(1, 1, [](communicator&) {
    const auto never = [](std::size_t) { ADD_FAILURE() << "an index was run"; };
    const int end = -1;
    EXPECT_EQ(error_of([&] { parallel_for(0, static_cast<std::size_t>(end), never); }),
              "a loop over 18446744073709551615 indices: the limit is 9223372036854775807; an end, "
              "extent or count below 0 becomes such a number: check their signs");
    loop_task task(static_cast<std::size_t>(end), [](std::size_t, std::size_t) {});
    expect_contains(error_of([&] { task.execute(); }), "count below 0");
  });
}

TEST(a_loop, that_ends_at_the_last_index_runs_each_once) {
  run_ranks(1, 1, [](communicator&) {
    constexpr std::size_t end = std::numeric_limits<std::size_t>::max();
    std::size_t runs = 0;
    parallel_for(end - 10, end, [&](std::size_t) { ++runs; }, {.grain = 7});
    EXPECT_EQ(runs, 10u);
  });
}

TEST(a_loop, that_is_not_stealable_stays_on_its_thread) {
  run_ranks(3, 3, [](communicator& world) {
    if (world.rank() == 0) {
      const std::thread::id mine = std::this_thread::get_id();
      for (int round = 0; round < 50; ++round)
        parallel_for(0, 50, [&](std::size_t) { EXPECT_EQ(std::this_thread::get_id(), mine); },
                     {.grain = 1, .stealable = false});
    }
    world.barrier();
  });
}

TEST(helpers, steal_from_ranks_that_have_no_idle_rank_beside_them) {
  options how = job_of(1, 1);
  how.helpers = 2;
  run_ranks(how, [](communicator&) {
    std::set<std::thread::id> threads;
    std::mutex lock;
    while (threads.size() < 2)
      parallel_for(0, 100,
                   [&](std::size_t) {
                     std::this_thread::sleep_for(20us);
                     const std::lock_guard hold(lock);
                     threads.insert(std::this_thread::get_id());
                   },
                   {.grain = 1});
  });
}

TEST(helpers, run_no_ranks) {
  options how = job_of(4, 2);
  how.helpers = 2;
  std::set<std::thread::id> homes;
  std::mutex lock;
  run_ranks(how, [&](communicator&) {
    const std::lock_guard hold(lock);
    homes.insert(std::this_thread::get_id());
  });
  const int here = tests::is_started() ? 1 : tests::processes_of(how);
  EXPECT_EQ(homes.size(), static_cast<std::size_t>(here * tests::workers_of_process(how)));
}

TEST(aligned_range, covers_all_elements_once_with_borders_on_cache_lines) {
  alignas(64) static std::array<double, 1000> data;
  for (const std::size_t offset : {0u, 1u, 5u})
    for (const std::size_t count : {0u, 1u, 7u, 8u, 9u, 100u, 900u})
      for (const std::size_t chunks : {1u, 2u, 3u, 16u, 200u}) {
        const double* base = data.data() + offset;
        std::size_t next = 0;
        for (std::size_t c = 0; c < chunks; ++c) {
          const range_1d part = aligned_range(base, count, c, chunks);
          ASSERT_EQ(part.begin, next);
          ASSERT_LE(part.begin, part.end);
          if (part.begin != 0 && part.begin != count) {
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(base + part.begin) % 64, 0u);
          }
          next = part.end;
        }
        ASSERT_EQ(next, count);
      }
}

TEST(aligned_range, of_elements_that_divide_no_line_lets_no_two_chunks_begin_in_one_line) {
  struct odd {
    char bytes[24];
  };
  alignas(64) static std::array<odd, 200> data;
  const auto line_of = [](std::size_t element) {
    return reinterpret_cast<std::uintptr_t>(&data[element]) / 64;
  };
  for (const std::size_t chunks : {2u, 5u, 70u}) {
    std::size_t next = 0;
    for (std::size_t c = 0; c < chunks; ++c) {
      const range_1d part = aligned_range(data.data(), data.size(), c, chunks);
      ASSERT_EQ(part.begin, next);
      if (part.begin != 0 && part.begin != part.end) {
        ASSERT_NE(line_of(part.begin - 1), line_of(part.begin))
            << "chunk " << c << " of " << chunks;
      }
      next = part.end;
    }
    ASSERT_EQ(next, data.size());
  }
}

// Three chunks: the first gives a thief time to be woken, in the second the owner waits for him, and he
// stays in the third as long as `is_kept`. None waits for ever.
struct kept_loop {
  static void run(void* self, std::int64_t first, std::int64_t) {
    auto& k = *static_cast<kept_loop*>(self);
    if (first == 0) std::this_thread::sleep_for(100us);
    if (first == 1) wait_while(k, [&] { return !k.has_thief; });
    if (first == 2) k.has_thief = true;
    if (first == 2) wait_while(k, [&] { return k.is_kept.load(); });
  }
  static void wait_while(kept_loop& k, const auto& condition) {
    while (condition() && std::chrono::steady_clock::now() < k.limit) std::this_thread::yield();
  }
  loop chunks{&run, this, 3, true, true};
  std::atomic<bool> has_thief{false};
  std::atomic<bool> is_kept{true};
  const std::chrono::steady_clock::time_point limit = std::chrono::steady_clock::now() + 10s;
  bool has_ended = false;
};

TEST(detached_loops, get_the_slots_that_thieves_have_left_since_the_last_pass) {
  run_ranks(alone(job_of(2, 2)), [](communicator& world) {
    if (world.rank() != 0) return (void)world.recv<int>(0);
    worker& here = *worker::current();
    const auto ended = [](worker&, void* of) { static_cast<kept_loop*>(of)->has_ended = true; };
    std::array<kept_loop, open_loops_max + 1> all;
    for (kept_loop& each : all) {
      bool is_open = false;
      while (!is_open && std::chrono::steady_clock::now() < each.limit)
        is_open = here.open_detached(each.chunks, ended, &each);
      EXPECT_TRUE(is_open) << "loop " << &each - all.data();
      each.has_ended = !is_open;
      each.is_kept = false;
    }
    while (!std::ranges::all_of(all, &kept_loop::has_ended)) yield();
    world.send(1, 1);
  });
}

}  // namespace
}  // namespace weft
