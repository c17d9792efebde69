#include "sync/switch_history.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "model/checker.hpp"

namespace weft {
namespace {

using model::scenario;

// A ring that goes round.
struct history {
  switch_history<2, model_atomics> cores;
  model_atomics::atomic<std::uint64_t> clock{100};
  std::uint64_t now() { return clock.fetch_add(1, std::memory_order_relaxed); }
};

// Two threads that switch on and off, while a third asks.
scenario ask_while_others_switch() {
  auto h = std::make_shared<history>();
  const auto thread = [=] {
    h->cores.switch_on(h->now());
    h->cores.switch_off(h->now());
  };
  const auto reader = [=] {
    const std::uint64_t from = h->now(), until = h->now();
    model::require(h->cores.on_between(from, until) <= until - from, "no more than has passed");
  };
  return scenario{.threads = {thread, thread, reader}, .check = [=] {
                    const std::uint64_t end = h->now();
                    // All are off, so nothing has been added since.
                    const std::uint64_t later = end + 1000;
                    return h->cores.on_between(end, later) == 0 &&
                           h->cores.on_between(0, later) <= end - 100;
                  }};
}

TEST(switch_history_model, never_has_more_than_the_time_that_has_passed) {
  const std::string failures = model::failures({ask_while_others_switch}, 2);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(switch_history_model, has_what_was_on) {
  switch_history<4> cores;
  EXPECT_EQ(cores.on_between(0, 10), 0u);
  cores.switch_on(10);
  cores.switch_on(12);
  cores.switch_off(15);
  EXPECT_EQ(cores.on_between(11, 17), 6u);
  cores.switch_off(20);
  EXPECT_EQ(cores.on_between(0, 30), 10u);
  cores.switch_on(40);
  EXPECT_EQ(cores.on_between(15, 45), 10u);
  cores.forget();
  EXPECT_EQ(cores.on_between(0, 50), 0u);
}

TEST(switch_history_model, goes_on_when_the_numbers_of_its_rounds_begin_again) {
  switch_history<4, std_atomics, 60> cores;
  std::uint64_t now = 1;
  for (int i = 0; i < 200; ++i) {
    cores.switch_on(now);
    cores.switch_off(now + 10);
    EXPECT_EQ(cores.on_between(now, now + 100), 10u) << i;
    now += 100;
  }
}

TEST(switch_history_model, forgets_what_lies_far_back) {
  switch_history<4> cores;
  for (std::uint64_t i = 0; i < 10; ++i) {
    cores.switch_on(100 * i);
    cores.switch_off(100 * i + 10);
  }
  EXPECT_EQ(cores.on_between(0, 1000), 20u);
  EXPECT_EQ(cores.on_between(900, 1000), 10u);
}

}  // namespace
}  // namespace weft
