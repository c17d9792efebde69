// What processes do while their ranks do not call weft, or only wait.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/format.hpp"
#include "multi/started_job.hpp"
#include "unit/shell.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;

class over : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() != std::string("shm") && !has_network())
      GTEST_SKIP() << "built without libfabric";
  }
};

// --- The progress worker ---------------------------------------------------------------------------

TEST_P(over, long_messages_arrive_while_their_sender_computes_with_a_progress_worker) {
  const empty_directory directory;
  const outcome got = shell(
      formatted("timeout 100 ./weftrun --transport {} --progress -n 2 --processes 2 --timeout 90 "
                "./test-overlap {}/arrived",
                GetParam(), directory.path()));
  EXPECT_EQ(got.status, 0) << got.text;
  EXPECT_EQ(got.text, "arrived meanwhile\n");
}

// The whole of what ranks do, beside a thread that looks at their devices.
TEST_P(over, everything_works_beside_a_progress_worker) {
  const outcome got =
      shell(formatted("timeout 100 ./weftrun --transport {} --progress -n 4 --processes 2 "
                      "--timeout 90 ./test-survivors 0 none",
                      GetParam()));
  EXPECT_EQ(got.status, 0) << got.text;
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_NE(got.text.find(formatted("rank {} went on\n", rank)), std::string::npos) << got.text;
}

// --- Waiting ---------------------------------------------------------------------------------------

// What all threads of a process have used of its cores so far.
struct usage {
  double ran_s = 0;
  double runs = 0;  // How often a thread has been given a core.

  void add(pid_t process) {
    for (const auto& thread :
         std::filesystem::directory_iterator(formatted("/proc/{}/task", process))) {
      std::uint64_t ran_ns = 0, waited_ns = 0, times = 0;
      std::ifstream(thread.path() / "schedstat") >> ran_ns >> waited_ns >> times;
      ran_s += static_cast<double>(ran_ns) * 1e-9;
      runs += static_cast<double>(times);
    }
  }
};

// A second, for both processes: a progress worker 50 for each, everything else less.
constexpr double runs_max = 200;
// Of one core, so that none spins. How long a run takes depends on the machine; bench/idle_bench.cpp measures it.
constexpr double share_max = 0.1;

void expect_idle(const std::string& words) {
  started_job job(
      formatted("timeout 100 ./weftrun {} -n 4 --processes 2 --timeout 90 ./test-idle", words));
  for (int rank = 0; rank < 4; ++rank)
    ASSERT_TRUE(job.wait_for(formatted("rank {} waits in ", rank))) << job.text();
  const auto processes = waiting_processes(job.text());
  ASSERT_EQ(processes.size(), 4u);
  // Until connections have settled and workers sleep, which a busy machine may draw out.
  double rate = 2 * runs_max, share = 1;
  for (int attempt = 0; attempt < 10 && (rate >= runs_max || share >= share_max); ++attempt) {
    const auto all = [&] {
      usage sum;
      sum.add(processes[0]);
      sum.add(processes[3]);
      return sum;
    };
    const auto begin = std::chrono::steady_clock::now();
    const usage before = all();
    ASSERT_GT(before.runs, 0);
    std::this_thread::sleep_for(2s);
    const usage after = all();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    rate = (after.runs - before.runs) / took.count();
    share = (after.ran_s - before.ran_s) / took.count();
  }
  EXPECT_LT(rate, runs_max);
  EXPECT_LT(share, share_max);
  job.signal(SIGTERM);
  job.finish();
}

TEST_P(over, ranks_that_wait_take_almost_no_processor) {
  expect_idle(formatted("--transport {}", GetParam()));
}

TEST_P(over, ranks_that_wait_take_almost_no_processor_with_a_progress_worker) {
  expect_idle(formatted("--transport {} --progress", GetParam()));
}

INSTANTIATE_TEST_SUITE_P(progress, over, ::testing::Values("shm", "ofi:tcp"),
                         [](const auto& one) { return std::string(one.param).substr(0, 3); });

}  // namespace
}  // namespace weft
