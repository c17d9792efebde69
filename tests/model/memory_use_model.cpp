#include "sync/memory_use.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "model/checker.hpp"

namespace weft {
namespace {

using model::scenario;
using use = basic_memory_use<model_atomics>;

// Each of two users writes to the memory once, if it may. One who leaves closes it, or is told that it is closed, and then has
// the memory for itself. It sleeps until a user whose mark it has seen wakes it.
model::setup leaving(bool is_told) {
  return [is_told] {
    struct state {
      model_atomics::atomic<bool> closed{false};
      std::array<model_atomics::atomic<bool>, 2> marks;
      std::array<model_atomics::atomic<int>, 2> woken;
      std::array<model_atomics::plain<int>, 2> memory;
      model_atomics::atomic<int> told{0};
    };
    auto shared = std::make_shared<state>();
    scenario made;
    for (std::size_t i = 0; i < 2; ++i)
      made.threads.push_back([shared, i] {
        if (use::try_begin(shared->marks[i], shared->closed))
          shared->memory[i].set(shared->memory[i].get() + 1);
        if (use::end(shared->marks[i], shared->closed))
          shared->woken[i].store(1, std::memory_order_release);
      });
    const auto leave = [shared] {
      for (std::size_t i = 0; i < 2; ++i) {
        if (use::is_in_use(shared->marks[i]))
          model::wait_until([&] { return shared->woken[i].load(std::memory_order_acquire) != 0; });
        shared->memory[i].set(-1);
      }
    };
    if (is_told) {
      made.threads.push_back([shared] {
        static_cast<void>(use::close(shared->closed));
        shared->told.store(1, std::memory_order_release);
      });
      made.threads.push_back([shared, leave] {
        model::wait_until([&] { return shared->told.load(std::memory_order_acquire) != 0; });
        leave();
      });
    } else {
      made.threads.push_back([shared, leave] {
        static_cast<void>(use::close(shared->closed));
        leave();
      });
    }
    made.check = [shared] {
      return shared->memory[0].get() == -1 && shared->memory[1].get() == -1;
    };
    return made;
  };
}

const std::vector<model::setup> scenarios{leaving(false), leaving(true)};

TEST(memory_use_model, who_leaves_has_its_memory_for_itself_and_is_woken) {
  const std::string failures = model::failures(scenarios, 2);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(memory_use_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_places(scenarios, 2), std::vector<std::string>{});
}

}  // namespace
}  // namespace weft
