// What the last worker that parks says of its process: the counts of a moment at which nobody had anything in hand.
#include "sync/traffic_count.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/checker.hpp"
#include "sync/parking.hpp"

namespace weft {
namespace {

using model::scenario;

constexpr auto relaxed = std::memory_order_relaxed;

// What is done wrongly, to see that the check finds it.
enum class fault {
  none,
  no_first_look,        // The counts after the last has parked are believed.
  sent_counts_late,     // When its worker waits again.
  turn_does_not_count,  // Of the thread that is no worker.
  turn_counts_late,     // When it has counted a message.
  answer_does_not_count,
  turn_counts_as_worker,  // Into the same number.
};

struct worker_state {
  parking_spot<model_atomics> spot;
  traffic_count<model_atomics> counts;
  model_atomics::atomic<int> work{0};
};
template <std::size_t Workers>
struct process {
  parked_count<model_atomics> parked{Workers};
  lifetime_count<model_atomics> turns;
  std::array<worker_state, Workers> workers;
  model_atomics::atomic<int> message{0};
  model_atomics::atomic<int> over{0};

  [[nodiscard]] traffic_look look() const {
    return look_at_traffic(turns, [this](traffic& sums) {
      for (const worker_state& one : workers) one.counts.add_to(sums);
    });
  }
  void give(std::size_t to) {
    workers[to].work.store(1, std::memory_order_release);
    parked.wake_if_parked(workers[to].spot);
  }
  // As the monitor does: a waker that was slower than another has left the count too low for a moment.
  void look_again() {
    for (;;) {
      model::wait_until([this] { return parked.all() || over.load(relaxed) == 1; });
      if (over.load(relaxed) == 1) return;
      parked.wake_if_parked(workers[0].spot);
    }
  }
  void end() {
    over.store(1, std::memory_order_release);
    for (worker_state& one : workers) parked.wake_if_parked(one.spot);
  }

  // What a worker does: acts upon a message by `take`, upon work by `act`, and parks. It ends everything when it may say
  // that a message was received and one was sent; no statement may have one alone.
  template <class Take, class Act, class Parked>
  void run(std::size_t number, fault wrong, const Take& take, const Act& act,
           const Parked& has_parked) {
    worker_state& me = workers[number];
    const auto has_work = [&] {
      return me.work.load(std::memory_order_acquire) == 1 ||
             (number == 0 && message.load(std::memory_order_acquire) == 1) ||
             over.load(std::memory_order_acquire) == 1;
    };
    for (;;) {
      if (over.load(std::memory_order_acquire) == 1) return;
      if (number == 0 && message.load(std::memory_order_acquire) == 1) {
        message.store(2, relaxed);
        take();
      }
      if (me.work.load(std::memory_order_acquire) == 1) {
        me.work.store(0, relaxed);
        act();
      }
      const traffic_look first = look();
      const auto outcome = parked.park(me.spot, has_work);
      has_parked();
      if (outcome == parked_count<model_atomics>::outcome::awake) continue;
      if (outcome == parked_count<model_atomics>::outcome::last) {
        const traffic_look second = look();
        const bool holds = wrong == fault::no_first_look || are_of_one_moment(turns, first, second);
        if (holds)
          model::require(second.sums.sent == second.sums.received, "nobody has anything in hand");
        if (!holds || second.sums.sent == 1) {
          parked.leave(me.spot);
          if (holds) return end();
          model::pause();
          continue;
        }
      }
      while (!me.spot.sleep(-1)) {
      }
    }
  }
};

// A message comes for worker 0, which hands work to worker 1, which sends a message.
model::setup one_message(fault wrong) {
  return [=] {
    auto shared = std::make_shared<process<2>>();
    const auto nothing = [] {};
    return scenario{.threads = {[=] {
                                  const auto take = [&] {
                                    shared->workers[0].counts.count_received();
                                    shared->give(1);
                                  };
                                  shared->run(0, wrong, take, nothing, nothing);
                                },
                                [=] {
                                  bool owes_count = false;
                                  const auto send = [&] {
                                    if (wrong == fault::sent_counts_late)
                                      owes_count = true;
                                    else
                                      shared->workers[1].counts.count_sent();
                                  };
                                  const auto has_parked = [&] {
                                    if (std::exchange(owes_count, false))
                                      shared->workers[1].counts.count_sent();
                                  };
                                  shared->run(1, wrong, nothing, send, has_parked);
                                },
                                [=] {
                                  shared->message.store(1, std::memory_order_release);
                                  shared->parked.wake_if_parked(shared->workers[0].spot);
                                  shared->look_again();
                                }}};
  };
}

// The progress worker takes a message in place of the worker, which then sends one.
model::setup taken_in_a_turn(fault wrong) {
  return [=] {
    auto shared = std::make_shared<process<1>>();
    return scenario{.threads = {[=] {
                                  const auto nothing = [] {};
                                  const auto send = [&] { shared->workers[0].counts.count_sent(); };
                                  shared->run(0, wrong, nothing, send, nothing);
                                },
                                [=] {
                                  const auto begin = [&] {
                                    if (wrong != fault::turn_does_not_count) shared->turns.begin();
                                  };
                                  if (wrong != fault::turn_counts_late) begin();
                                  shared->workers[0].counts.count_received_in_turn();
                                  if (wrong == fault::turn_counts_late) begin();
                                  shared->give(0);
                                  if (wrong != fault::turn_does_not_count) shared->turns.end();
                                  shared->look_again();
                                }}};
  };
}

// The progress worker answers in place of a worker that waits: it counts both messages, and nobody need wake.
model::setup answered_in_a_turn(fault wrong) {
  return [=] {
    struct process {
      parked_count<model_atomics> parked{1};
      parking_spot<model_atomics> spot;
      lifetime_count<model_atomics> turns;
      traffic_count<model_atomics> counts;
    };
    auto shared = std::make_shared<process>();
    const auto look = [=] {
      return look_at_traffic(shared->turns, [&](traffic& sums) { shared->counts.add_to(sums); });
    };
    return scenario{.threads = {[=] {
                                  const traffic_look first = look();
                                  if (shared->parked.park(shared->spot, [] { return false; }) !=
                                      parked_count<model_atomics>::outcome::last)
                                    return;
                                  const traffic_look second = look();
                                  if (are_of_one_moment(shared->turns, first, second))
                                    model::require(second.sums.sent == second.sums.received,
                                                   "no answer is in hand");
                                },
                                [=] {
                                  if (wrong != fault::turn_does_not_count) shared->turns.begin();
                                  shared->counts.count_received_in_turn();
                                  if (wrong != fault::answer_does_not_count)
                                    shared->counts.count_sent_in_turn();
                                  if (wrong != fault::turn_does_not_count) shared->turns.end();
                                }}};
  };
}

// The progress worker takes a message while the worker takes one of another network.
model::setup received_at_once(fault wrong) {
  return [=] {
    struct process {
      traffic_count<model_atomics> counts;
      model_atomics::atomic<int> received{0};
      void note() {
        if (received.fetch_add(1, std::memory_order_acq_rel) + 1 < 2) return;
        traffic sum;
        counts.add_to(sum);
        model::require(sum.received == 2, "no count is lost");
      }
    };
    auto shared = std::make_shared<process>();
    return scenario{.threads = {[=] {
                                  shared->counts.count_received();
                                  shared->note();
                                },
                                [=] {
                                  if (wrong == fault::turn_counts_as_worker)
                                    shared->counts.count_received();
                                  else
                                    shared->counts.count_received_in_turn();
                                  shared->note();
                                }}};
  };
}

const std::vector<model::setup> scenarios{one_message(fault::none), taken_in_a_turn(fault::none),
                                          answered_in_a_turn(fault::none),
                                          received_at_once(fault::none)};

TEST(traffic_count_model, no_schedule_has_a_statement_with_a_message_in_hand) {
  const std::string failures = model::failures(scenarios, 2);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(traffic_count_model, each_count_and_each_look_is_needed) {
  const std::array<std::pair<model::setup, const char*>, 7> wrong{{
      {one_message(fault::no_first_look), "the first look"},
      {one_message(fault::sent_counts_late), "what is sent"},
      {taken_in_a_turn(fault::turn_does_not_count), "a turn"},
      {taken_in_a_turn(fault::turn_counts_late), "the order of a turn"},
      {answered_in_a_turn(fault::turn_does_not_count), "a turn that answers"},
      {answered_in_a_turn(fault::answer_does_not_count), "an answer"},
      {received_at_once(fault::turn_counts_as_worker), "a count of a turn's own"},
  }};
  for (const auto& [scene, what] : wrong)
    EXPECT_TRUE(model::explore(scene, 2).error.has_value()) << what;
}

TEST(traffic_count_model, each_ordering_is_needed) {
  std::vector<std::string> unneeded = model::unneeded_places(scenarios, 2, "parking.hpp");
  std::erase_if(unneeded, [](const std::string& place) {
    return place.find(" at traffic_count.hpp:") == std::string::npos;
  });
  EXPECT_EQ(unneeded, std::vector<std::string>{});
}

}  // namespace
}  // namespace weft
