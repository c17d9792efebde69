#include "sync/lifetime_count.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "model/checker.hpp"
#include "sync/parking.hpp"

namespace weft {
namespace {

using model::scenario;

// Worker 1 makes a thread, which brings it work and ends; it brings worker 0 work. So whoever parks last
// may say at no time that nobody is left who might bring some.
scenario a_thread_between_workers() {
  struct worker {
    parking_spot<model_atomics> spot;
    model_atomics::atomic<int> work{0};
  };
  struct job {
    parked_count<model_atomics> parked{2};
    lifetime_count<model_atomics> threads;
    model_atomics::atomic<int> made{0};
    std::array<worker, 2> workers;
  };
  auto shared = std::make_shared<job>();
  const auto wait = [=](std::size_t number) {
    using outcome = parked_count<model_atomics>::outcome;
    worker& me = shared->workers[number];
    const auto has_work = [&] { return me.work.load(std::memory_order_acquire) == 1; };
    while (!has_work()) {
      const std::uint64_t ended = shared->threads.ended();
      const outcome now_is = shared->parked.park(me.spot, has_work);
      if (now_is == outcome::awake) continue;
      if (now_is == outcome::last && shared->threads.none_since(ended))
        model::require(has_work(), "at rest only when nobody brings work");
      while (!me.spot.sleep(-1)) {
      }
    }
  };
  const auto bring_work = [=](std::size_t to) {
    shared->workers[to].work.store(1, std::memory_order_release);
    shared->parked.wake_if_parked(shared->workers[to].spot);
  };
  return scenario{.threads = {[=] { wait(0); },
                              [=] {
                                shared->threads.begin();
                                shared->made.store(1, std::memory_order_release);
                                wait(1);
                                bring_work(0);
                              },
                              [=] {
                                while (shared->made.load(std::memory_order_acquire) == 0)
                                  model::pause();
                                bring_work(1);
                                shared->threads.end();
                              }}};
}

// Whoever finds that no thread lives may read what those that have ended left.
scenario what_a_thread_leaves() {
  struct job {
    lifetime_count<model_atomics> threads;
    model_atomics::plain<int> left;
  };
  auto shared = std::make_shared<job>();
  shared->threads.begin();
  return scenario{.threads = {[=] {
                                shared->left.set(1);
                                shared->threads.end();
                              },
                              [=] {
                                while (!shared->threads.none_since(shared->threads.ended()))
                                  model::pause();
                                model::require(shared->left.get() == 1, "all that it did");
                              }}};
}

const std::vector<model::setup> scenarios{a_thread_between_workers, what_a_thread_leaves};

TEST(lifetime_count_model, in_every_schedule_no_job_is_quiescent_while_a_thread_brings_work) {
  const std::string failures = model::failures(scenarios, 3);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(lifetime_count_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_places(scenarios, 2, "parking.hpp"), std::vector<std::string>{});
}

}  // namespace
}  // namespace weft
