#include "sync/reader_count.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "model/checker.hpp"

namespace weft {
namespace {

using model::scenario;

// What is listed may be used by whoever sees it listed; its owner takes it off the list and ends it.
const std::vector<model::setup> scenarios{[] {
  struct state {
    model_atomics::atomic<int> listed{1};
    reader_count<model_atomics> looking;
    model_atomics::plain<int> uses{0};
  };
  auto it = std::make_shared<state>();
  scenario scene;
  scene.threads.push_back([=] {
    it->looking.enter();
    if (it->listed.load(std::memory_order_relaxed) != 0) it->uses.set(it->uses.get() + 1);
    it->looking.leave();
  });
  scene.threads.push_back([=] {
    it->listed.store(0, std::memory_order_relaxed);
    while (!it->looking.none()) model::pause();
    it->uses.set(-1);
  });
  return scene;
}};

TEST(reader_count_model, in_every_schedule_nobody_uses_what_has_gone) {
  const std::string failures = model::failures(scenarios, model::unbounded);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(reader_count_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_places(scenarios, 3), std::vector<std::string>{});
}

}  // namespace
}  // namespace weft
