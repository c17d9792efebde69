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

// What all threads of a process have run so far.
std::uint64_t processor_ns(pid_t process) {
  std::uint64_t sum = 0;
  for (const auto& thread :
       std::filesystem::directory_iterator(formatted("/proc/{}/task", process))) {
    std::uint64_t ns = 0;
    std::ifstream(thread.path() / "schedstat") >> ns;
    sum += ns;
  }
  return sum;
}

// Of one core, for both processes. What they run for does not depend on what else the machine does, but for
// the time that a switch of threads takes: up to twice as long beside busy neighbours. Instrumented, all they
// run for is longer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double share_max = 0.04;
#else
constexpr double share_max = 0.02;
#endif

void expect_idle(const std::string& words) {
  started_job job(
      formatted("timeout 100 ./weftrun {} -n 4 --processes 2 --timeout 90 ./test-idle", words));
  for (int rank = 0; rank < 4; ++rank)
    ASSERT_TRUE(job.wait_for(formatted("rank {} waits in ", rank))) << job.text();
  const auto processes = waiting_processes(job.text());
  ASSERT_EQ(processes.size(), 4u);
  // Until connections have settled and workers sleep, which a busy machine may draw out.
  double share = 1;
  for (int attempt = 0; attempt < 10 && share >= share_max; ++attempt) {
    const auto all = [&] { return processor_ns(processes[0]) + processor_ns(processes[3]); };
    const auto begin = std::chrono::steady_clock::now();
    const std::uint64_t before = all();
    ASSERT_GT(before, 0u);
    std::this_thread::sleep_for(2s);
    const std::uint64_t ran = all() - before;
    const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
    share = static_cast<double>(ran) / static_cast<double>(took.count());
  }
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
