#include "sync/word_lock.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "model/checker.hpp"

namespace weft {
namespace {

using model::scenario;
using lock = basic_word_lock<model_atomics>;

// Each adds one under the lock.
const std::vector<model::setup> scenarios{[] {
  struct state {
    lock guard;
    model_atomics::plain<int> sum{0};
  };
  auto shared = std::make_shared<state>();
  const auto add = [shared](std::uint32_t me) {
    return [shared, me] {
      while (!shared->guard.try_take(me))
        model::wait_until([&] { return shared->guard.holder() == lock::nobody; });
      model::require(shared->guard.holder() == me, "the holder is who took it");
      shared->sum.set(shared->sum.get() + 1);
      shared->guard.give();
    };
  };
  return scenario{.threads = {add(1), add(2), add(3)},
                  .check = [shared] { return shared->sum.get() == 3; }};
}};

TEST(word_lock_model, one_at_a_time_and_the_next_sees_what_the_last_did) {
  const std::string failures = model::failures(scenarios, 3);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(word_lock_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_places(scenarios, 2), std::vector<std::string>{});
}

TEST(word_lock_model, only_one_takes_it_from_a_holder_that_is_gone) {
  word_lock l;
  const auto seven_is_gone = [](std::uint32_t holder) { return holder == 7; };
  EXPECT_FALSE(l.try_take_over_in_order(8, seven_is_gone));
  EXPECT_TRUE(l.try_take(7));
  EXPECT_FALSE(l.try_take(8));
  EXPECT_FALSE(l.try_take_over_in_order(8, [](std::uint32_t) { return false; }));
  EXPECT_TRUE(l.try_take_over_in_order(8, seven_is_gone));
  EXPECT_FALSE(l.try_take_over_in_order(9, seven_is_gone));
  EXPECT_EQ(l.holder(), 8u);
}

}  // namespace
}  // namespace weft
