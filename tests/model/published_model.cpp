#include "sync/published.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "model/checker.hpp"
#include "weft/comm/completion.hpp"

namespace weft {
namespace {

using model::scenario;

using places = std::array<model_atomics::plain<int>, 2>;

scenario publish() {
  struct state {
    published<int, model_atomics> round;
    places written;
  };
  auto shared = std::make_shared<state>();
  scenario scene;
  scene.threads.push_back([=] {
    shared->written[0].set(1);
    shared->round.publish(1);
    shared->written[1].set(2);
    shared->round.publish(2);
  });
  scene.threads.push_back([=] {
    model::wait_until([&] { return shared->round.value() != 0; });
    model::require(shared->written[0].get() == 1, "what preceded the first value");
    model::wait_until([&] { return shared->round.value() == 2; });
    model::require(shared->written[1].get() == 2, "what preceded the second");
  });
  return scene;
}

// Two that count, one that waits for both: by a count of weft's own or by the users' counter.
template <class Count, class Add, class Value>
model::setup count_of(Add add, Value value) {
  return [=] {
    struct state {
      Count count;
      places written;
    };
    auto shared = std::make_shared<state>();
    scenario scene;
    for (std::size_t who = 0; who < 2; ++who)
      scene.threads.push_back([=] {
        shared->written[who].set(1);
        add(shared->count);
      });
    scene.threads.push_back([=] {
      model::wait_until([&] { return value(shared->count) == 2; });
      model::require(shared->written[0].get() + shared->written[1].get() == 2, "what both did");
    });
    return scene;
  };
}
using number = published<std::uint64_t, model_atomics>;
const model::setup add =
    count_of<number>([](number& n) { n.add(1); }, [](const number& n) { return n.value(); });

scenario arrive() {
  struct state {
    join_count<model_atomics> who;
    places written;
    [[nodiscard]] bool all() const { return written[0].get() + written[1].get() == 2; }
  };
  auto shared = std::make_shared<state>();
  shared->who.expect(2);
  scenario scene;
  for (std::size_t i = 0; i < 2; ++i)
    scene.threads.push_back([=] {
      shared->written[i].set(1);
      if (shared->who.arrive() == 0) model::require(shared->all(), "the last sees what both did");
    });
  scene.threads.push_back([=] {
    model::wait_until([&] { return shared->who.all_arrived(); });
    model::require(shared->all(), "who waits sees it");
  });
  return scene;
}

// One that is expected brings another; a third waits until one is left of the three, as does somebody
// who is held but no fiber.
scenario bring_another() {
  struct state {
    join_count<model_atomics> who;
    published<bool, model_atomics> may_begin;
    places written;
    [[nodiscard]] bool all() const { return written[0].get() + written[1].get() == 2; }
  };
  auto shared = std::make_shared<state>();
  shared->who.expect(2);
  scenario scene;
  scene.threads.push_back([=] {
    shared->who.expect_another();
    shared->may_begin.publish(true);
    shared->written[0].set(1);
    if (shared->who.arrive() == 1) model::require(shared->all(), "the later sees what both did");
  });
  scene.threads.push_back([=] {
    model::wait_until([&] { return shared->may_begin.value(); });
    shared->written[1].set(1);
    if (shared->who.arrive() == 1) model::require(shared->all(), "the later sees what both did");
  });
  scene.threads.push_back([=] {
    model::wait_until([&] { return shared->may_begin.value() && shared->who.at_most(1); });
    model::require(shared->all(), "who waits sees it");
    shared->who.arrive();
  });
  return scene;
}

// An object with owners, whose last one ends it, is found by somebody who becomes an owner only where there is still one.
scenario find_owned() {
  struct state {
    join_count<model_atomics> owners;
    model_atomics::atomic<int> ended{0};
  };
  auto shared = std::make_shared<state>();
  shared->owners.expect(1);
  const auto leave = [=] {
    if (shared->owners.arrive() == 0) shared->ended.fetch_add(1, std::memory_order_relaxed);
  };
  scenario scene;
  scene.threads.push_back(leave);
  for (int finder = 0; finder < 2; ++finder)
    scene.threads.push_back([=] {
      if (!shared->owners.expect_another_if_any()) return;
      model::require(shared->ended.load(std::memory_order_relaxed) == 0, "it has an owner");
      leave();
    });
  scene.check = [=] { return shared->ended.load(std::memory_order_relaxed) == 1; };
  return scene;
}

const std::vector<model::setup> scenarios{publish, add, arrive, bring_another, find_owned};

TEST(published_model, in_every_schedule_what_was_written_before_is_there) {
  const std::string failures = model::failures(scenarios, model::unbounded);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(published_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_places(scenarios, 2), std::vector<std::string>{});
}

// --- The counter of completions ---

using counter = comm::basic_counter<model_atomics>;

comm::event happened(comm::outcome how) {
  comm::event e;
  e.result = how;
  return e;
}

const std::vector<model::setup> counters{
    count_of<counter>([](counter& c) { c.signal(happened(comm::outcome::complete)); },
                      [](const counter& c) { return c.value(); }),
    count_of<counter>([](counter& c) { c.signal(happened(comm::outcome::failed)); },
                      [](const counter& c) { return c.failures(); })};

TEST(published_model, a_counter_shows_what_the_counted_operations_brought) {
  const std::string failures = model::failures(counters, model::unbounded);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(published_model, each_ordering_of_a_counter_is_needed) {
  EXPECT_EQ(model::unneeded_places(counters, 2), std::vector<std::string>{});
}

}  // namespace
}  // namespace weft
