#include "sync/deque.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "stress/stress.hpp"

namespace weft {
namespace {

// Values are 1, 2, ...; each must be taken once, so their count and sum must agree.
TEST(deque_stress, every_value_comes_out_once) {
  using deque_type = deque<std::uint64_t, 16>;
  const stress::run run;
  deque_type values;
  std::atomic<std::uint64_t> taken_count{0}, taken_sum{0};
  std::atomic<bool> over{false};
  std::uint64_t pushed = 0;
  const auto take = [&](std::optional<std::uint64_t> value) {
    if (!value) return false;
    taken_sum += *value;
    ++taken_count;
    return true;
  };
  const auto owner = [&] {
    deque_type::owner mine(values);
    auto random = run.random(0);
    while (run.time_left()) {
      for (auto n = random() % 20; n > 0; --n)
        if (mine.try_push(pushed + 1)) ++pushed;
      for (auto n = random() % 20; n > 0; --n) take(mine.try_pop());
    }
    while (take(mine.try_pop())) {
    }
    over = true;
  };
  const auto thief = [&] {
    deque_type::thief mine(values);
    while (!over)
      if (!take(mine.try_steal())) std::this_thread::yield();
  };
  stress::run::together({owner, thief, thief});
  EXPECT_GT(pushed, 0u);
  EXPECT_EQ(taken_count, pushed);
  EXPECT_EQ(taken_sum, pushed * (pushed + 1) / 2);
}

}  // namespace
}  // namespace weft
