#include "sched/spin_limit.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace weft {
namespace {

constexpr std::uint64_t us = 1'000, ms = 1'000'000, s = 1'000'000'000;
constexpr std::uint64_t shortest = 50 * us, longest = 10 * ms;

// A worker with a clock of its own: it computes, waits and counts how long it spun.
struct worker_in_time {
  spin_limit limit{shortest, longest};
  std::uint64_t now = 1'000 * s;
  std::uint64_t forced = 0;           // Switches so far,
  std::uint64_t forced_every_ns = 0;  // of which one comes in each such time; 0: none.
  std::uint64_t spun_ns = 0;
  std::uint64_t slept = 0;

  void pass(std::uint64_t duration_ns) {
    if (forced_every_ns != 0)
      forced += (now + duration_ns) / forced_every_ns - now / forced_every_ns;
    now += duration_ns;
  }
  // What it waits for comes after so long.
  void wait(std::uint64_t duration_ns) {
    constexpr std::uint64_t step = 2 * us;
    for (std::uint64_t spun = 0; spun < duration_ns; spun += step) {
      if (limit.is_reached(spun, now, false, [this] { return forced; })) {
        limit.note_vain(spun, now);
        ++slept;
        limit.note_waited(duration_ns);
        return pass(duration_ns - spun);
      }
      pass(step);
      spun_ns += step;
    }
  }
  [[nodiscard]] double spun_share(std::uint64_t since) const {
    return static_cast<double>(spun_ns) / static_cast<double>(now - since);
  }
};

TEST(spin_limit, waits_of_up_to_5_ms_never_sleep_however_often_they_come) {
  for (const std::uint64_t wait : {5 * us, 60 * us, 500 * us, 5 * ms}) {
    worker_in_time w;
    for (int i = 0; i < 1000; ++i) {
      w.pass(100 * us);
      w.wait(wait);
    }
    EXPECT_EQ(w.slept, 0U) << wait;
  }
}

TEST(spin_limit, waits_of_20_to_200_ms_over_and_over_spin_for_less_than_a_tenth) {
  for (const std::uint64_t wait : {20 * ms, 50 * ms, 200 * ms}) {
    worker_in_time w;
    const std::uint64_t began = w.now;
    for (int i = 0; i < 100; ++i) {
      w.pass(1 * ms);
      w.wait(wait);
    }
    EXPECT_LT(w.spun_share(began), 0.10) << wait;
    EXPECT_EQ(w.slept, 100U) << wait;
  }
}

TEST(spin_limit, a_long_wait_spins_for_the_longest_time_once) {
  worker_in_time w;
  w.wait(1 * s);
  EXPECT_LE(w.spun_ns, longest + 10 * us);
  EXPECT_LT(w.spun_share(1'000 * s), 0.02);
  // Woken for nothing in the same wait.
  EXPECT_TRUE(w.limit.is_reached(shortest, w.now, true, [] { return std::uint64_t{0}; }));
  EXPECT_FALSE(w.limit.is_reached(shortest - 1, w.now, true, [] { return std::uint64_t{0}; }));
}

TEST(spin_limit, short_waits_between_long_ones_still_spin_until_they_end) {
  worker_in_time w;
  for (int i = 0; i < 100; ++i) {
    w.wait(100 * ms);
    w.wait(1 * ms);
  }
  EXPECT_EQ(w.slept, 100U);  // The long ones.
}

TEST(spin_limit, short_waits_after_long_ones_soon_spin_until_they_end) {
  for (const std::uint64_t wait : {200 * us, 1 * ms, 5 * ms}) {
    worker_in_time w;
    for (int i = 0; i < 20; ++i) w.wait(100 * ms);
    const std::uint64_t began = w.now;
    std::uint64_t slept = w.slept;
    while (w.now - began < 500 * ms) w.wait(wait);
    slept = w.slept;
    for (int i = 0; i < 1000; ++i) w.wait(wait);
    EXPECT_EQ(w.slept, slept) << wait;
  }
}

TEST(spin_limit, beside_a_program_that_computes_spins_are_short_until_it_has_gone) {
  worker_in_time w;
  w.forced_every_ns = 6 * ms;
  for (int i = 0; i < 200; ++i) {  // Until it is noticed.
    w.pass(200 * us);
    w.wait(1 * ms);
  }
  const std::uint64_t slept = w.slept;
  EXPECT_GT(slept, 0U);
  for (int i = 0; i < 1000; ++i) {
    w.pass(200 * us);
    w.wait(1 * ms);
  }
  EXPECT_GT(w.slept - slept, 950U);
  w.forced_every_ns = 0;
  for (int i = 0; i < 4000; ++i) w.wait(1 * ms);  // 4 seconds.
  const std::uint64_t slept_beside = w.slept;
  for (int i = 0; i < 1000; ++i) w.wait(1 * ms);
  EXPECT_EQ(w.slept, slept_beside);
}

TEST(spin_limit, threads_of_the_kernel_that_come_now_and_then_are_no_neighbours) {
  worker_in_time w;
  w.forced_every_ns = 30 * ms;
  for (int i = 0; i < 5000; ++i) w.wait(1 * ms);
  EXPECT_EQ(w.slept, 0U);
}

TEST(spin_limit, an_explicit_time_is_obeyed_as_it_is) {
  spin_limit fixed(20 * us, 20 * us);
  const auto none = [] { return std::uint64_t{0}; };
  for (const std::uint64_t now : {1 * s, 2 * s}) {
    EXPECT_FALSE(fixed.is_reached(20 * us - 1, now, false, none));
    EXPECT_TRUE(fixed.is_reached(20 * us, now, false, none));
    fixed.note_vain(20 * us, now);
  }
}

}  // namespace
}  // namespace weft
