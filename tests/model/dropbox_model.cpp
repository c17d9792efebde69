#include "sync/dropbox.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "model/checker.hpp"

namespace weft {
namespace {

using model::scenario;

// The writer puts 1, 2, ...; each reader must get all of them in order.
template <std::size_t Slots>
model::setup pass(int count, std::uint32_t readers) {
  return [=] {
    using box_type = dropbox<int, Slots, model_atomics>;
    auto box = std::make_shared<box_type>(readers);
    scenario scene;
    scene.threads.push_back([=] {
      for (int value = 1; value <= count; ++value)
        while (!box->try_put(value)) model::pause();
    });
    for (std::uint32_t r = 0; r < readers; ++r)
      scene.threads.push_back([=] {
        typename box_type::reader mine(*box);
        for (int value = 1; value <= count; ++value) {
          model::wait_until([&] { return mine.peek() != nullptr; });
          model::require(*mine.peek() == value, "all values in order");
          mine.done();
        }
        model::require(mine.peek() == nullptr, "nothing behind the last value");
      });
    return scene;
  };
}

const std::vector<model::setup> scenarios{pass<1>(2, 1), pass<1>(2, 2), pass<2>(3, 1)};

TEST(dropbox_model, every_schedule_gives_each_value_to_every_reader) {
  const std::string failures = model::failures(scenarios, 2);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(dropbox_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_labels(scenarios, 2), std::vector<std::string>{});
}

}  // namespace
}  // namespace weft
