#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "comm/event_slots.hpp"
#include "comm/spin_lock.hpp"
#include "model/checker.hpp"

namespace weft {
namespace {

using model::scenario;

// --- Synchronizer ---

const std::vector<model::setup> groups{[] {
  using group = comm::event_group<int, model_atomics>;
  auto both = std::make_shared<group>(2);
  scenario scene;
  for (int value = 1; value <= 2; ++value)
    scene.threads.push_back([=] {
      model::require(both->reserve(), "there is a place for two");
      both->put(value);
    });
  scene.threads.push_back([=] {
    model::wait_until([&] { return both->is_complete(); });
    model::require(both->value(0) + both->value(1) == 3, "both values are there");
    model::require(!both->reserve(), "there is no third place");
  });
  return scene;
}};

TEST(comm_completion_model, every_schedule_shows_all_values_of_a_group) {
  const std::string failures = model::failures(groups, 2);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(comm_completion_model, each_ordering_of_a_group_is_needed) {
  EXPECT_EQ(model::unneeded_places(groups, 2), std::vector<std::string>{});
}

// --- Completion queue ---

// A pusher tries to push 1, 2, ...; poppers make so many attempts each. With a capacity of 1 each
// place is used again.
model::setup queue_of(std::size_t capacity, int values, std::vector<int> attempts) {
  return [=] {
    using ring = comm::event_ring<int, model_atomics>;
    auto queue = std::make_shared<ring>(capacity);
    scenario scene;
    scene.threads.push_back([=] {
      for (int value = 1; value <= values; ++value)
        if (queue->reserve()) queue->push(value);
    });
    for (const int count : attempts)
      scene.threads.push_back([=] {
        int last = 0;
        for (int i = 0; i < count; ++i) {
          int value = 0;
          if (!queue->try_pop(value)) continue;
          model::require(value > last && value <= values, "values that were pushed, in order");
          last = value;
        }
      });
    return scene;
  };
}
const std::vector<model::setup> queues{queue_of(1, 2, {2}), queue_of(2, 3, {3}),
                                       queue_of(1, 2, {1, 1})};

TEST(comm_completion_model, every_schedule_of_a_queue_pops_what_was_pushed) {
  const std::string failures = model::failures(queues, 2);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(comm_completion_model, each_ordering_of_a_queue_is_needed) {
  EXPECT_EQ(model::unneeded_places(queues, 2), std::vector<std::string>{});
}

// --- The lock of a shared device ---

const std::vector<model::setup> locks{[] {
  struct guarded {
    comm::basic_spin_lock<model_atomics> lock;
    model_atomics::plain<int> count{0};
  };
  auto one = std::make_shared<guarded>();
  scenario scene;
  static const char marks[2] = {};
  for (const char& mark : marks)
    scene.threads.push_back([=, me = &mark] {
      while (!one->lock.try_enter(me)) model::pause();
      model::require(one->lock.try_enter(me), "the holder may enter again");
      one->lock.leave();
      one->count.set(one->count.get() + 1);
      one->lock.leave();
    });
  return scene;
}};

TEST(comm_completion_model, one_thread_at_a_time_holds_the_lock) {
  const std::string failures = model::failures(locks, 3);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(comm_completion_model, each_ordering_of_the_lock_is_needed) {
  EXPECT_EQ(model::unneeded_places(locks, 3), std::vector<std::string>{});
}

}  // namespace
}  // namespace weft
