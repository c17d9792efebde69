// The stack and what is made of it: queue and pool.
#include "sync/handoff_stack.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "model/checker.hpp"
#include "sync/mpsc_queue.hpp"
#include "sync/pool.hpp"

namespace weft {
namespace {

using model::scenario;

struct node {
  model_atomics::plain<int> value;
  model_atomics::plain<node*> next;
};

// Each producer pushes its nodes; the consumer must get all, those of one producer in order.
model::setup queue(std::vector<int> counts) {
  return [=] {
    struct state {
      mpsc_queue<node, model_atomics> inbox;
      std::array<std::array<node, 2>, 2> nodes;
      std::array<int, 2> woken{};
    };
    auto shared = std::make_shared<state>();
    scenario scene;
    int total = 0;
    for (std::size_t p = 0; p < counts.size(); ++p) {
      total += counts[p];
      scene.threads.push_back([=] {
        for (int i = 0; i < counts[p]; ++i) {
          node& mine = shared->nodes[p][static_cast<std::size_t>(i)];
          mine.value.set(static_cast<int>(p) * 10 + i);
          shared->woken[p] += shared->inbox.push(&mine);
        }
      });
    }
    scene.threads.push_back([=] {
      std::array<int, 2> next{};
      for (int popped = 0; popped < total;) {
        const node* got = shared->inbox.try_pop();
        if (got == nullptr) {
          model::pause();
          continue;
        }
        const int value = got->value.get();
        model::require(value % 10 == next[static_cast<std::size_t>(value / 10)]++,
                       "a producer's nodes in order");
        ++popped;
      }
      model::require(shared->inbox.try_pop() == nullptr, "nothing twice");
    });
    scene.check = [=] { return shared->woken[0] + shared->woken[1] >= 1; };
    return scene;
  };
}

struct packet {
  model_atomics::plain<int> content;
};

// The owner hands its only object out; the others write to it and give it back.
scenario recycle() {
  struct state {
    pool<packet, model_atomics> objects{2};
    std::array<model_atomics::atomic<packet*>, 2> handed{};
  };
  auto shared = std::make_shared<state>();
  scenario scene;
  scene.threads.push_back([=] {
    for (auto& hand : shared->handed) {
      packet* object = shared->objects.try_take();
      object->content.set(1);
      hand.store(object, std::memory_order_release);
    }
    for (int back = 0; back < 2;) {
      packet* object = shared->objects.try_take();
      if (object == nullptr) {
        model::pause();
        continue;
      }
      model::require(object->content.get() == 2, "the object as it was given back");
      ++back;
    }
    model::require(shared->objects.try_take() == nullptr, "no more objects than there are");
  });
  for (std::size_t user = 0; user < 2; ++user)
    scene.threads.push_back([=] {
      auto& hand = shared->handed[user];
      model::wait_until([&] { return hand.load(std::memory_order_acquire) != nullptr; });
      packet* object = hand.load(std::memory_order_relaxed);
      object->content.set(2);
      shared->objects.give_back_remote(object);
    });
  return scene;
}

const std::vector<model::setup> scenarios{queue({2}), queue({1, 1}), queue({2, 1}), recycle};

TEST(handoff_stack_model, every_schedule_of_queue_and_pool_loses_and_doubles_nothing) {
  const std::string failures = model::failures(scenarios, 3);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(handoff_stack_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_places(scenarios, 2), std::vector<std::string>{});
}

}  // namespace
}  // namespace weft
