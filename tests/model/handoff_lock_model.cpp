#include "sync/handoff_lock.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "model/checker.hpp"
#include "sync/gate.hpp"

namespace weft {
namespace {

using model::scenario;

struct ship {
  basic_handoff_lock<model_atomics> handoff_lock;
  model_atomics::plain<int> steps{0};
};

const char marks[3] = {};

void steer(ship& s, const void* me) {
  model::require(s.handoff_lock.held_by(me), "who steers has the hand-off lock");
  s.steps.set(s.steps.get() + 1);
}

const auto rest = [](unsigned) { model::pause(); };

// One that offers it while it has it, as a worker in a wait does, and one that wants it once.
const std::vector<model::setup> handoff_locks{[] {
  auto s = std::make_shared<ship>();
  scenario scene;
  scene.threads.push_back([=] {
    s->handoff_lock.take(&marks[0], rest);
    steer(*s, &marks[0]);
    s->handoff_lock.offer(&marks[0], rest, 2);
    steer(*s, &marks[0]);
    s->handoff_lock.give();
    model::require(!s->handoff_lock.held_by(&marks[0]), "it has been given");
  });
  scene.threads.push_back([=] {
    s->handoff_lock.take_after_others(&marks[1], rest, 2);
    steer(*s, &marks[1]);
    s->handoff_lock.give();
  });
  return scene;
}};

TEST(handoff_lock_model, one_thread_at_a_time_has_the_handoff_lock) {
  const std::string failures = model::failures(handoff_locks, 3);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(handoff_lock_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_places(handoff_locks, 3), std::vector<std::string>{});
}

// --- The gate ---

const std::vector<model::setup> gates{[] {
  struct garden {
    basic_gate<model_atomics> gate;
    model_atomics::plain<int> visits{0};
  };
  auto g = std::make_shared<garden>();
  scenario scene;
  scene.threads.push_back([=] {
    if (!g->gate.enter()) return;
    g->visits.set(g->visits.get() + 1);
    g->gate.leave();
  });
  scene.threads.push_back([=] {
    g->gate.close();
    while (!g->gate.is_empty()) model::pause();
    g->visits.set(-1);  // What is inside goes.
  });
  return scene;
}};

TEST(gate_model, nobody_is_inside_when_it_is_closed_and_empty) {
  const std::string failures = model::failures(gates, 3);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(gate_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_places(gates, 3), std::vector<std::string>{});
}

}  // namespace
}  // namespace weft
