#include "sync/parking.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <utility>

#include "base/limits.hpp"
#include "stress/stress.hpp"

namespace weft {
namespace {

// Sleeps without a limit: a lost wake-up hangs the test.
TEST(parking_stress, a_parker_that_sleeps_for_ever_misses_no_work) {
  constexpr std::size_t wakers = 2;
  const stress::run run;
  parking_spot<> spot;
  struct alignas(padding_bytes) counter {
    std::atomic<std::uint64_t> brought{0};  // By one waker; relaxed, only the fences order it.
  };
  std::array<counter, wakers> work;
  std::atomic<bool> over{false};
  std::uint64_t slept = 0;
  const auto parker = [&] {
    std::array<std::uint64_t, wakers> done{};
    const auto look = [&] {
      bool found = false;
      for (std::size_t i = 0; i < wakers; ++i)
        found |= std::exchange(done[i], work[i].brought.load(std::memory_order_relaxed)) != done[i];
      return found;
    };
    for (;;) {
      if (look()) continue;
      spot.announce();
      if (look()) {
        spot.cancel();
        continue;
      }
      if (over) {
        spot.cancel();
        look();
        break;
      }
      ++slept;
      while (!spot.sleep(-1)) {
      }
    }
    for (std::size_t i = 0; i < wakers; ++i) EXPECT_EQ(done[i], work[i].brought);
  };
  std::vector<std::function<void()>> bodies{parker};
  std::atomic<std::size_t> left{wakers};
  for (std::size_t i = 0; i < wakers; ++i)
    bodies.push_back([&, i] {
      auto random = run.random(i);
      while (run.time_left()) {
        work[i].brought.fetch_add(1, std::memory_order_relaxed);
        spot.wake_if_parked();
        for (auto pause = random() % 2000; pause > 0; --pause)
          std::atomic_signal_fence(std::memory_order_seq_cst);
      }
      if (--left == 0) {
        over = true;
        spot.wake_if_parked();
      }
    });
  stress::run::together(bodies);
  EXPECT_GT(slept, 0u);
}

}  // namespace
}  // namespace weft
