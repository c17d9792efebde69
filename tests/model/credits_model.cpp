#include "sync/credits.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>

#include "model/checker.hpp"
#include "sync/parking.hpp"

namespace weft {
namespace {

using model::scenario;

struct senders_and_receiver {
  credits<model_atomics> of_receiver{1};
  std::array<parking_spot<model_atomics>, 2> spots;
  model_atomics::atomic<int> under_way{0};

  // As a fiber does whose worker sleeps.
  void take(std::size_t sender) {
    while (!of_receiver.take_or_wait(1)) {
      spots[sender].announce();
      if (of_receiver.take_or_wait(1)) {
        spots[sender].cancel();
        break;
      }
      while (!spots[sender].sleep(-1)) {
      }
    }
    model::require(under_way.fetch_add(1, std::memory_order_relaxed) == 0,
                   "no more is under way than the limit");
  }
  void give_back() {
    under_way.fetch_sub(1, std::memory_order_relaxed);
    const auto said = of_receiver.give_back(1);
    if (!said.wake_all) return;
    for (auto& spot : spots) spot.wake_if_parked();
  }
};

// The one credit is taken at first. A lost wake-up is an error of the run.
scenario a_sender_waits_for_what_comes_back() {
  auto shared = std::make_shared<senders_and_receiver>();
  shared->take(0);
  return scenario{.threads = {[=] { shared->take(0); }, [=] { shared->give_back(); }}};
}

scenario two_senders_wait_and_one_gives_back_for_the_other() {
  auto shared = std::make_shared<senders_and_receiver>();
  shared->take(0);
  const auto take_and_give_back = [=](std::size_t sender) {
    shared->take(sender);
    shared->give_back();
  };
  return scenario{.threads = {[=] { take_and_give_back(0); }, [=] { take_and_give_back(1); },
                              [=] { shared->give_back(); }}};
}

TEST(credits_model, nobody_sleeps_for_ever_and_no_more_is_taken_than_there_is) {
  const auto failures = model::failures({&a_sender_waits_for_what_comes_back}, 4);
  EXPECT_EQ(failures, std::string());
}

TEST(credits_model, each_of_two_senders_gets_what_comes_back) {
  const auto failures = model::failures({&two_senders_wait_and_one_gives_back_for_the_other}, 2);
  EXPECT_EQ(failures, std::string());
}

}  // namespace
}  // namespace weft
