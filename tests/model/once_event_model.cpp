// The state of a future: one thread sets it, others ask, or leave a node.
#include "sync/once_event.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "model/checker.hpp"

namespace weft {
namespace {

using model::scenario;

struct node {
  model_atomics::plain<int> told_by;
  model_atomics::plain<node*> next;
};

// The setter writes a value, then tells; each waiter either finds the value there or is told once.
model::setup waiters(int count) {
  return [=] {
    struct state {
      once_event<node, model_atomics> event;
      model_atomics::plain<int> value;
      std::array<node, 2> nodes;
      std::array<bool, 2> is_in{};
      std::array<int, 2> told{};
    };
    auto shared = std::make_shared<state>();
    scenario scene;
    scene.threads.push_back([=] {
      shared->value.set(7);
      for (node* n = shared->event.happen(); n != nullptr; n = n->next.get())
        ++shared->told[static_cast<std::size_t>(n->told_by.get())];
    });
    for (int i = 0; i < count; ++i)
      scene.threads.push_back([=] {
        const auto self = static_cast<std::size_t>(i);
        shared->nodes[self].told_by.set(i);
        shared->is_in[self] = shared->event.try_add(&shared->nodes[self]);
        if (!shared->is_in[self]) model::require(shared->value.get() == 7, "the value");
      });
    scene.check = [=] {
      bool right = shared->event.has_happened();
      for (int i = 0; i < count; ++i) {
        const auto self = static_cast<std::size_t>(i);
        right = right && shared->told[self] == (shared->is_in[self] ? 1 : 0);
      }
      return right;
    };
    return scene;
  };
}

// One that only asks.
scenario question() {
  struct state {
    once_event<node, model_atomics> event;
    model_atomics::plain<int> value;
  };
  auto shared = std::make_shared<state>();
  scenario scene;
  scene.threads.push_back([=] {
    shared->value.set(7);
    model::require(shared->event.happen() == nullptr, "nobody came");
  });
  scene.threads.push_back([=] {
    if (shared->event.has_happened()) model::require(shared->value.get() == 7, "the value");
  });
  scene.check = [=] { return shared->event.has_happened(); };
  return scene;
}

const std::vector<model::setup> scenarios{waiters(1), waiters(2), question};

TEST(once_event_model, every_waiter_finds_the_value_or_is_told_once) {
  const std::string failures = model::failures(scenarios, 3);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(once_event_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_places(scenarios, 3), std::vector<std::string>{});
}

}  // namespace
}  // namespace weft
