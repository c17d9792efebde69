// An object that is made while others ask for it: whoever sees it sees what its maker wrote, also into what was made before it.
#include "sync/made_late.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "model/checker.hpp"

namespace weft {
namespace {

using model::scenario;

struct object {
  model_atomics::plain<int> value;
};
using late = made_late<object, model_atomics>;

void destroy(object* one) {
  delete one;
}
object* made(int value) {
  auto* const one = new object;
  one->value.set(value);
  return one;
}

// Two that ask while a third makes it.
scenario ask() {
  auto shared = std::make_shared<late>();
  scenario scene;
  scene.threads.push_back([=] { shared->publish(made(7), &destroy); });
  for (int who = 0; who < 2; ++who)
    scene.threads.push_back([=] {
      if (*shared == nullptr) return;
      model::require((*shared)->value.get() == 7, "what its maker wrote");
    });
  scene.check = [=] { return shared->get() != nullptr; };
  return scene;
}

// As the ways to other jobs, which are published last: others ask for them first.
scenario ask_for_the_last() {
  struct state {
    late first, last;
  };
  auto shared = std::make_shared<state>();
  scenario scene;
  scene.threads.push_back([=] {
    shared->first.publish(made(1), &destroy);
    shared->last.publish(made(2), &destroy);
  });
  scene.threads.push_back([=] {
    if (shared->last == nullptr) return;
    model::require(shared->first.get() != nullptr, "what was made before it");
    model::require(shared->first->value.get() + (*shared->last).value.get() == 3, "both");
  });
  return scene;
}

const std::vector<model::setup> scenarios{ask, ask_for_the_last};

TEST(made_late_model, whoever_sees_it_sees_what_was_written_before) {
  const std::string failures = model::failures(scenarios, model::unbounded);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(made_late_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_places(scenarios, 2), std::vector<std::string>{});
}

}  // namespace
}  // namespace weft
