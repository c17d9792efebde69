#include "sync/abandonable_count.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "model/checker.hpp"

namespace weft {
namespace {

using model::scenario;

// As the scheduler does: what lives is counted beside, and nobody may see that nothing lives while the fiber that begins
// work does.
struct job {
  abandonable_count<model_atomics> work;
  model_atomics::atomic<int> living{1};  // The fiber.

  void count_out() {
    model::require(living.fetch_sub(1, std::memory_order_relaxed) > 0, "each is counted out once");
  }
  bool begin() {
    living.fetch_add(1, std::memory_order_relaxed);
    if (work.begin()) return true;
    count_out();
    return false;
  }
  void end() {
    if (work.end()) count_out();
  }
  void abandon() {
    for (std::uint64_t left = work.abandon(); left != 0; --left) count_out();
  }
};

// A unit is begun, ended by another thread, and given up by a third. Which of the two last count it out is open.
scenario one_ends_what_another_gives_up() {
  struct shared_state {
    job of;
    model_atomics::atomic<int> is_begun{0};
  };
  auto shared = std::make_shared<shared_state>();
  return scenario{.threads = {[=] {
                                shared->of.begin();
                                shared->is_begun.store(1, std::memory_order_release);
                              },
                              [=] {
                                while (shared->is_begun.load(std::memory_order_acquire) == 0)
                                  model::pause();
                                shared->of.end();
                              },
                              [=] { shared->of.abandon(); }},
                  // The fiber alone lives.
                  .check = [=] { return shared->of.living.load(std::memory_order_relaxed) == 1; }};
}

// Who gives a unit up sees what its beginner did before, here the count of what lives.
scenario what_is_given_up_has_been_counted() {
  struct shared_state {
    abandonable_count<model_atomics> work;
    model_atomics::plain<int> counted{0};
  };
  auto shared = std::make_shared<shared_state>();
  return scenario{.threads = {[=] {
                                shared->counted.set(1);
                                static_cast<void>(shared->work.begin());
                              },
                              [=] {
                                if (shared->work.abandon() == 1)
                                  model::require(shared->counted.get() == 1, "counted before");
                              }}};
}

const std::vector<model::setup> scenarios = {&one_ends_what_another_gives_up,
                                             &what_is_given_up_has_been_counted};

TEST(abandonable_count_model, each_unit_is_counted_out_once_by_who_sees_its_begin) {
  const auto failures = model::failures(scenarios, 4);
  EXPECT_EQ(failures, std::string());
}

TEST(abandonable_count_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_places(scenarios, 2), std::vector<std::string>{});
}

}  // namespace
}  // namespace weft
