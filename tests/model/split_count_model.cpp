// The count of a group of tasks: its home adds and finishes some, others finish the rest, or add more.
#include "sync/split_count.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "model/checker.hpp"

namespace weft {
namespace {

using model::scenario;

struct shared_state {
  split_count<model_atomics> count;
  model_atomics::plain<int> done[2];
  model_atomics::atomic<int> told{0};
  int last = 0;
};

void finish_elsewhere(shared_state& s) {
  if (!s.count.finish_elsewhere()) return;
  ++s.last;
  s.told.store(1, std::memory_order_release);
}

void wait_at_home(shared_state& s) {
  if (!s.count.is_done() && !s.count.settle()) {
    model::wait_until([&] { return s.told.load(std::memory_order_acquire) == 1; });
    s.count.resume();
  }
}

// One that the home has added for each other thread, and one that it finishes itself.
model::setup others(int count, bool asks) {
  return [=] {
    auto shared = std::make_shared<shared_state>();
    for (int i = 0; i < count + 1; ++i) shared->count.add_at_home();
    scenario scene;
    scene.threads.push_back([=] {
      model::require(!shared->count.finish_at_home(), "nobody waits yet");
      if (asks) {
        wait_at_home(*shared);
      } else if (!shared->count.settle()) {
        model::wait_until([&] { return shared->told.load(std::memory_order_acquire) == 1; });
        shared->count.resume();
      }
      for (int i = 0; i < count; ++i)
        model::require(shared->done[i].get() == 1, "what was done elsewhere");
      model::require(shared->count.is_done(), "none is left");
    });
    for (int i = 0; i < count; ++i)
      scene.threads.push_back([=] {
        shared->done[i].set(1);
        finish_elsewhere(*shared);
      });
    scene.check = [=] { return shared->last <= 1; };
    return scene;
  };
}

// What is done elsewhere adds another one first, which is done there too.
scenario nested() {
  auto shared = std::make_shared<shared_state>();
  shared->count.add_at_home();
  scenario scene;
  scene.threads.push_back([=] {
    wait_at_home(*shared);
    model::require(shared->done[0].get() == 1 && shared->done[1].get() == 1, "both");
  });
  scene.threads.push_back([=] {
    shared->count.add_elsewhere();
    shared->done[0].set(1);
    finish_elsewhere(*shared);
    shared->done[1].set(1);
    finish_elsewhere(*shared);
  });
  scene.check = [=] { return shared->last <= 1; };
  return scene;
}

const std::vector<model::setup> scenarios{others(1, true), others(1, false), others(2, true),
                                          others(2, false), nested};

TEST(split_count_model, the_home_goes_on_once_all_are_done_and_sees_what_they_did) {
  const std::string failures = model::failures(scenarios, 3);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(split_count_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_places(scenarios, 3), std::vector<std::string>{});
}

}  // namespace
}  // namespace weft
