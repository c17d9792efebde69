#include "sync/thread_lock.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "model/checker.hpp"

namespace weft {
namespace {

using model::scenario;

struct guarded {
  basic_thread_lock<model_atomics> lock;
  model_atomics::plain<int> value{0};

  void add_by_looking() {
    while (!lock.try_take()) model::pause();
    add();
  }
  void add_by_sleeping() {
    lock.take_by_sleeping();
    add();
  }
  void add() {
    value.set(value.get() + 1);
    lock.give();
  }
};

std::vector<model::setup> ways_to_take_it() {
  return {
      [] {
        auto g = std::make_shared<guarded>();
        scenario scene;
        for (int t = 0; t < 2; ++t) scene.threads.push_back([=] { g->add_by_looking(); });
        return scene;
      },
      // Nobody sleeps for ever.
      [] {
        auto g = std::make_shared<guarded>();
        scenario scene;
        scene.threads.push_back([=] { g->add_by_looking(); });
        for (int t = 0; t < 2; ++t) scene.threads.push_back([=] { g->add_by_sleeping(); });
        return scene;
      },
  };
}

TEST(thread_lock_model, one_has_it_at_a_time_and_finds_what_the_others_did) {
  const std::string failures = model::failures(ways_to_take_it(), 3);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(thread_lock_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_places(ways_to_take_it(), 3), std::vector<std::string>{});
}

}  // namespace
}  // namespace weft
