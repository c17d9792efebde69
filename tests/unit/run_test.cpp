// Starting jobs: options in words, one after the other, several at once.
#include <unistd.h>
#include <atomic>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "job.hpp"

namespace weft {
namespace {

void ring_once(communicator& world) {
  const int n = world.size();
  int got = -1;
  world.sendrecv(std::vector{world.rank()}, (world.rank() + 1) % n, std::span(&got, 1),
                 (world.rank() + n - 1) % n);
  EXPECT_EQ(got, (world.rank() + n - 1) % n);
  EXPECT_EQ(world.allreduce(1, std::plus<>{}), n);
}

TEST(run, takes_its_words_out_of_argv_and_leaves_the_programs) {
  std::vector<std::string> words{"program", "--weft-ranks", "5", "own", "--weft-workers=2", "-x"};
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  int argc = static_cast<int>(words.size());
  EXPECT_EQ(run(argc, argv.data(),
                [](communicator& world) {
                  EXPECT_EQ(world.size(), 5);
                  ring_once(world);
                }),
            0);
  ASSERT_EQ(argc, 3);
  EXPECT_STREQ(argv[1], "own");
  EXPECT_STREQ(argv[2], "-x");
}

TEST(run, that_a_rank_calls_is_refused_and_names_the_rank) {
  testing::internal::CaptureStderr();
  run_ranks(2, 1, [](communicator& world) {
    if (world.rank() != 1) return;
    EXPECT_EQ(run(options{}, [](communicator&) {}), 2);
  });
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "weft: rank 1 called weft::run(), which would block its worker: use split() for a part "
            "of the ranks, or a thread of your own\n");
}

TEST(run, may_be_called_again_and_again) {
  for (int i = 0; i < 50; ++i) run_ranks(1 + i % 5, 1 + i % 3, ring_once);
}

TEST(run, may_be_called_again_after_a_failure) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(run_to_failure(job_of(3, 2),
                             [](communicator& world) {
                               if (world.rank() == 1) throw std::runtime_error("once");
                               world.barrier();
                             })
                  .status,
              1);
    run_ranks(3, 2, ring_once);
  }
}

TEST(run, works_in_several_threads_at_once) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < 5; ++i)
        run_ranks(3 + t, 1 + t % 2, [&](communicator& world) {
          EXPECT_EQ(world_size(), 3 + t);
          for (int k = 0; k < 20; ++k) ring_once(world);
        });
    });
  for (std::thread& t : threads) t.join();
}

TEST(run, of_one_thread_fails_without_harm_to_another) {
  testing::internal::CaptureStderr();
  std::thread failing([] {
    for (int i = 0; i < 5; ++i)
      EXPECT_EQ(run(job_of(2, 2),
                    [](communicator& world) {
                      if (world.rank() == 0) throw std::runtime_error("alone");
                      world.barrier();
                    }),
                1);
  });
  run_ranks(3, 2, [](communicator& world) {
    for (int k = 0; k < 200; ++k) ring_once(world);
  });
  failing.join();
  expect_contains(testing::internal::GetCapturedStderr(), "rank 0: alone");
}

TEST(run, places_ranks_as_the_map_says) {
  const auto workers_of = [](const std::string& map) {
    std::vector<std::thread::id> at(6);
    run_ranks(job_of(6, 2, map), [&](communicator& world) {
      at[static_cast<std::size_t>(world.rank())] = std::this_thread::get_id();
    });
    std::string same;  // For each rank, whether it shares rank 0's worker.
    for (const auto& id : at) same += id == at[0] ? '0' : '1';
    return same;
  };
  EXPECT_EQ(workers_of("block"), "000111");
  EXPECT_EQ(workers_of("cyclic"), "010101");
  const auto file =
      std::filesystem::temp_directory_path() /
      ("weft_map_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) + "_" +
       std::to_string(static_cast<long>(::getpid())));
  std::ofstream(file) << "0,5,2,1,3,4\n";
  EXPECT_EQ(workers_of(file.string()), "010110");
  std::filesystem::remove(file);
}

TEST(run, prints_statistics_of_each_rank_and_worker_when_asked) {
  options how = job_of(2, 2);
  how.stats = true;
  testing::internal::CaptureStderr();
  run_ranks(how, [](communicator& world) {
    if (world.rank() == 0)
      for (int i = 0; i < 7; ++i) world.send(i, 1);
    else
      for (int i = 0; i < 7; ++i) EXPECT_EQ(world.recv<int>(0), i);
    world.barrier();
    parallel_for(0, 64, [](std::size_t) {}, {.grain = 1});
  });
  const std::string text = testing::internal::GetCapturedStderr();
  expect_contains(text, "rank  worker       sent      bytes   received      bytes");
  expect_contains(text, "   0       0          7         28          0");
  expect_contains(text, "   1       1          0          0          7         28");
  expect_contains(text, "worker   switches");
}

TEST(run, writes_a_timeline_with_the_chunks_that_thieves_executed) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("weft_timeline_" + std::to_string(static_cast<long>(::getpid())) + ".json");
  options how = job_of(2, 2);
  how.trace_file = file.string();
  run_ranks(how, [](communicator& world) {
    if (world.rank() == 0) {
      const std::thread::id mine = std::this_thread::get_id();
      std::atomic<bool> stolen{false};
      while (!stolen)
        parallel_for(0, 50,
                     [&](std::size_t) {
                       if (std::this_thread::get_id() != mine) stolen = true;
                       std::this_thread::sleep_for(std::chrono::microseconds(50));
                     },
                     {.grain = 1});
    }
    world.barrier();
  });
  std::ifstream in(file);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  expect_contains(text, "chunk of rank 0 (stolen)");
  expect_contains(text, "\"chunk of rank 0\"");
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace weft
