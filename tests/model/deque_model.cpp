#include "sync/deque.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "model/checker.hpp"

namespace weft {
namespace {

using model::scenario;
using deque_type = deque<int, 2, model_atomics>;

// The owner does what `steps` says, a number to push and 0 to pop, while thieves each steal some
// times. All that was pushed must come out once.
model::setup run(std::vector<int> steps, std::vector<int> steals) {
  return [=] {
    struct state {
      deque_type values;
      deque_type::owner owner{values};
      std::vector<int> pushed;
      std::vector<std::vector<int>> got;
    };
    auto shared = std::make_shared<state>();
    shared->got.resize(steals.size() + 1);
    scenario scene;
    scene.threads.push_back([=] {
      for (const int step : steps)
        if (step == 0) {
          if (const auto value = shared->owner.try_pop()) shared->got[0].push_back(*value);
        } else if (shared->owner.try_push(step)) {
          shared->pushed.push_back(step);
        }
    });
    for (std::size_t i = 0; i < steals.size(); ++i)
      scene.threads.push_back([=] {
        deque_type::thief thief(shared->values);
        for (int n = 0; n < steals[i]; ++n)
          if (const auto value = thief.try_steal()) shared->got[i + 1].push_back(*value);
      });
    scene.check = [=] {
      std::vector<int> all;
      for (const auto& got : shared->got) all.insert(all.end(), got.begin(), got.end());
      while (const auto value = shared->owner.try_pop()) all.push_back(*value);
      std::ranges::sort(all);
      // Thieves take the oldest first.
      for (std::size_t i = 1; i < shared->got.size(); ++i)
        if (!std::ranges::is_sorted(shared->got[i])) return false;
      return all == shared->pushed;
    };
    return scene;
  };
}

const std::vector<model::setup> scenarios{
    run({1, 0}, {1}),           // The last value.
    run({1, 2, 0, 0}, {1, 1}),  // The last two.
    run({1, 2, 0}, {2}),        // The same thief twice.
    run({1, 2, 3, 0}, {2}),     // Full, and slots filled anew.
    run({1, 0, 2, 0}, {1}),     // Empty in between.
};

TEST(deque_model, every_schedule_gives_each_value_to_one_taker) {
  const std::string failures = model::failures(scenarios, 3);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(deque_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_places(scenarios, 2), std::vector<std::string>{});
}

}  // namespace
}  // namespace weft
