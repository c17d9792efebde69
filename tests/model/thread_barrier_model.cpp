#include "sync/thread_barrier.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "model/checker.hpp"

namespace weft {
namespace {

using model::scenario;

struct meeting {
  explicit meeting(std::uint32_t members) : barrier(members) {}
  basic_thread_barrier<model_atomics> barrier;
  model_atomics::plain<int> brought[2]{};
  int last_ones = 0;  // Of the scheduler's one thread.

  void meet() {
    const auto arrival = barrier.arrive();
    last_ones += arrival.is_last ? 1 : 0;
    wait_for_others(arrival);
    barrier.leave();
  }
  void wait_for_others(const basic_thread_barrier<model_atomics>::arrival& mine) {
    while (!mine.is_last && !barrier.is_over(mine.round)) model::pause();
  }
};

std::vector<model::setup> meetings() {
  return {
      // Two rounds: each brings something, and finds what the other has brought.
      [] {
        auto m = std::make_shared<meeting>(2);
        scenario scene;
        for (int me = 0; me < 2; ++me)
          scene.threads.push_back([=] {
            m->brought[me].set(1);
            m->meet();
            model::require(m->brought[1 - me].get() == 1, "each finds what the other has brought");
            m->meet();
            m->brought[1 - me].set(2);
          });
        return scene;
      },
      // It goes when all have left it.
      [] {
        auto m = std::make_shared<meeting>(2);
        auto gone = std::make_shared<model_atomics::plain<int>>(0);
        scenario scene;
        scene.threads.push_back([=] {
          m->meet();
          while (!m->barrier.is_empty()) model::pause();
          gone->set(1);
        });
        scene.threads.push_back([=] {
          const auto arrival = m->barrier.arrive();
          m->wait_for_others(arrival);
          (void)gone->get();
          m->barrier.leave();
        });
        return scene;
      },
  };
}

TEST(thread_barrier_model, who_leaves_has_met_all) {
  const std::string failures = model::failures(meetings(), 3);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(thread_barrier_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_places(meetings(), 3), std::vector<std::string>{});
}

// Of four threads two at a time, whoever they are.
TEST(thread_barrier_model, more_threads_than_members_meet_in_rounds) {
  const std::vector<model::setup> crowd{[] {
    auto m = std::make_shared<meeting>(2);
    auto left = std::make_shared<int>(4);
    scenario scene;
    for (int t = 0; t < 4; ++t)
      scene.threads.push_back([=] {
        m->last_ones += m->barrier.arrive().is_last ? 1 : 0;
        if (--*left == 0) model::require(m->last_ones == 2, "one of two is the last of a round");
      });
    return scene;
  }};
  const std::string failures = model::failures(crowd, 2);
  EXPECT_TRUE(failures.empty()) << failures;
}

}  // namespace
}  // namespace weft
