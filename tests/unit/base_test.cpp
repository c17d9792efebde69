#include <gtest/gtest.h>
#include <signal.h>

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "base/kept_dispositions.hpp"
#include "base/standard_descriptors.hpp"

namespace weft {
namespace {

TEST(assert, false_condition_names_file_and_expression_and_aborts) {
  const int rank = 7;
  EXPECT_DEATH(WEFT_ASSERT(rank < 5), "base_test.cpp:[0-9]+: assertion failed: rank < 5");
}

TEST(assert, true_condition_does_nothing_and_is_evaluated_once) {
  int evaluations = 0;
  WEFT_ASSERT(++evaluations > 0);
  EXPECT_EQ(evaluations, 1);
}

TEST(clock, time_never_runs_backwards) {
  std::uint64_t last = now_ns();
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t now = now_ns();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(clock, ticks_advance_as_time_does) {
  const std::uint64_t start_ns = now_ns();
  const std::uint64_t start_ticks = ticks();
  while (now_ns() - start_ns < 20'000'000) {
  }
  const auto elapsed_ticks = static_cast<double>(ticks() - start_ticks);
  const auto elapsed_ns = static_cast<double>(now_ns() - start_ns);
  // Loose: the thread may be interrupted between the two readings of a clock.
  EXPECT_GT(elapsed_ticks * ns_per_tick(), 0.2 * elapsed_ns);
  EXPECT_LT(elapsed_ticks * ns_per_tick(), 5 * elapsed_ns);
}

int open_descriptors() {
  int count = 0;
  for (int number = 0; number < 256; ++number) count += ::fcntl(number, F_GETFD) >= 0;
  return count;
}

// Ends the process: 0 when no descriptor is left over.
[[noreturn]] void take_standard_input_beside_a_thread_that_opens() {
  const int before = open_descriptors();
  std::atomic<bool> ends{false};
  std::thread other([&] {
    while (!ends.load(std::memory_order_relaxed)) ::close(::open("/dev/null", O_RDONLY));
  });
  constexpr std::uint64_t long_enough_ns = 1'000'000'000;
  for (const std::uint64_t begun = now_ns(); now_ns() - begun < long_enough_ns;) {
    ::close(STDIN_FILENO);
    take_standard_descriptors();
  }
  ends.store(true, std::memory_order_relaxed);
  other.join();
  std::_Exit(open_descriptors() <= before ? 0 : 1);
}

TEST(standard_descriptors, beside_a_thread_that_opens_files_none_is_left_over) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two threads race for a descriptor here, which ThreadSanitizer reports";
#endif
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(take_standard_input_beside_a_thread_that_opens(), testing::ExitedWithCode(0), "");
}

// --- Signals while a library is loaded -----------------------------------------------------------

volatile sig_atomic_t signals_taken = 0;

TEST(kept_dispositions, what_is_sent_meanwhile_waits_for_the_dispositions_before) {
  struct sigaction ours {
  }, before{};
  ours.sa_handler = [](int) { signals_taken = signals_taken + 1; };
  ASSERT_EQ(sigaction(SIGTERM, &ours, &before), 0);
  {
    const kept_dispositions kept;
    raise(SIGTERM);
    EXPECT_EQ(signals_taken, 0) << "it was met by whatever the library has set";
  }
  EXPECT_EQ(signals_taken, 1);
  sigaction(SIGTERM, &before, nullptr);
}

}  // namespace
}  // namespace weft
