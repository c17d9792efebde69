#include "sync/parking.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "model/checker.hpp"

namespace weft {
namespace {

using model::scenario;

struct shared_work {
  parking_spot<model_atomics> spot;
  std::array<model_atomics::atomic<int>, 2> work;
  model_atomics::plain<int> from_waker;
};

constexpr auto relaxed = std::memory_order_relaxed;

// Wakers publish work, relaxed on purpose: only the fences order it. The parker must not sleep for
// ever while there is some.
model::setup park(std::size_t wakers, std::int64_t timeout_ns) {
  return [=] {
    auto shared = std::make_shared<shared_work>();
    scenario scene;
    scene.threads.push_back([=] {
      for (std::size_t done = 0; done < wakers;) {
        const auto look = [&] {
          for (auto& work : shared->work)
            if (work.load(relaxed) == 1) {
              work.store(0, relaxed);
              ++done;
              return true;
            }
          return false;
        };
        if (look()) continue;
        shared->spot.announce();
        if (look()) {
          shared->spot.cancel();
          continue;
        }
        if (!shared->spot.sleep(timeout_ns)) {
          shared->spot.cancel();
          if (timeout_ns >= 0) model::pause();
        }
      }
      model::require(!shared->spot.is_parked(), "awake at the end");
    });
    for (std::size_t waker = 0; waker < wakers; ++waker)
      scene.threads.push_back([=] {
        shared->work[waker].store(1, relaxed);
        shared->spot.wake_if_parked();
      });
    return scene;
  };
}

// One waker knows the spot; another one, as it were of another process, knows only the bell beside it.
// The parker must not sleep for ever while there is work of either.
scenario park_beside_a_bell() {
  struct sides {
    parking_spot<model_atomics> spot, bell;
    std::array<model_atomics::atomic<int>, 2> work;
  };
  auto shared = std::make_shared<sides>();
  const auto parker = [=] {
    int done = 0;
    const auto look = [&] {
      for (auto& work : shared->work)
        if (work.load(relaxed) == 1) {
          work.store(0, relaxed);
          ++done;
          return true;
        }
      return false;
    };
    while (done < 2) {
      if (look()) continue;
      shared->bell.announce();
      shared->spot.announce();
      if (!look())
        (void)shared->spot.sleep_beside(shared->bell.word(), shared->bell.parked, true, -1);
      shared->spot.cancel();
      shared->bell.cancel();
    }
  };
  const auto waker = [=](std::size_t which) {
    return [=] {
      shared->work[which].store(1, relaxed);
      (which == 0 ? shared->spot : shared->bell).wake_if_parked();
    };
  };
  return scenario{.threads = {parker, waker(0), waker(1)}};
}

// Who is woken, by sleep() or by a cancel() that came too late, sees what its waker did before.
model::setup hand_over(bool beside_a_bell) {
  return [=] {
    auto shared = std::make_shared<shared_work>();
    auto bell = std::make_shared<parking_spot<model_atomics>>();
    return scenario{.threads = {[=] {
                                  shared->spot.announce();
                                  // False for a sleep that ended for no reason.
                                  if ((beside_a_bell
                                           ? shared->spot.sleep_beside(bell->word(), 0, true, 0)
                                           : shared->spot.sleep(0)) ||
                                      !shared->spot.cancel())
                                    (void)shared->from_waker.get();
                                },
                                [=] {
                                  shared->from_waker.set(1);
                                  shared->spot.wake_if_parked();
                                }}};
  };
}

// The same for a parker whose thread has slept at other words beside this one.
scenario hand_over_to_one_that_slept_elsewhere() {
  auto shared = std::make_shared<shared_work>();
  return scenario{.threads = {[=] {
                                shared->spot.announce();
                                model::wait_until([=] { return !shared->spot.is_parked(); });
                                model::require(shared->spot.is_awake(), "woken");
                                (void)shared->from_waker.get();
                              },
                              [=] {
                                shared->from_waker.set(1);
                                while (!shared->spot.wake_if_parked()) model::pause();
                              }}};
}

// One that is awake looks whether the other one is parked, sees then what that one did before, and
// brings it work.
scenario look_at_the_others() {
  struct job {
    parked_count<model_atomics> parked{2};
    parking_spot<model_atomics> spot;
    model_atomics::plain<int> waits_for;
    model_atomics::atomic<int> work{0};
  };
  auto shared = std::make_shared<job>();
  return scenario{
      .threads = {[=] {
                    const auto has_work = [&] { return shared->work.load(relaxed) == 1; };
                    shared->waits_for.set(1);
                    while (!has_work()) {
                      const auto outcome = shared->parked.park(shared->spot, has_work);
                      model::require(outcome != parked_count<model_atomics>::outcome::last,
                                     "never the last, since the other one never parks");
                      if (outcome == parked_count<model_atomics>::outcome::parked)
                        while (!shared->spot.sleep(-1)) {
                        }
                    }
                  },
                  [=] {
                    if (shared->parked.all_but_one()) {
                      model::require(shared->spot.is_parked(), "parked until it gets work");
                      (void)shared->waits_for.get();
                    }
                    shared->work.store(1, relaxed);
                    shared->parked.wake_if_parked(shared->spot);
                    model::require(!shared->parked.all_but_one(), "who has got work is not parked");
                  }},
      .check = [=] { return !shared->parked.any(); }};
}

// One wakes on its own, as when its time is over or something has come from outside, while the other gives it work and
// parks: that one is not the last.
scenario wake_on_its_own() {
  struct job {
    parked_count<model_atomics> parked{2};
    std::array<parking_spot<model_atomics>, 2> spots;
    model_atomics::atomic<int> work{0};
    model_atomics::atomic<int> done{0};
  };
  using outcome = parked_count<model_atomics>::outcome;
  auto shared = std::make_shared<job>();
  return scenario{
      .threads = {[=] {
                    const auto has_work = [&] { return shared->work.load(relaxed) == 1; };
                    if (shared->parked.park(shared->spots[0], has_work) != outcome::awake)
                      shared->parked.leave(shared->spots[0]);
                    model::wait_until(has_work);
                    shared->done.store(1, std::memory_order_release);
                    shared->parked.wake_if_parked(shared->spots[1]);
                  },
                  [=] {
                    shared->work.store(1, relaxed);
                    shared->parked.wake_if_parked(shared->spots[0]);
                    const auto is_done = [&] {
                      return shared->done.load(std::memory_order_acquire) == 1;
                    };
                    const outcome parked = shared->parked.park(shared->spots[1], is_done);
                    model::require(parked != outcome::last || is_done(),
                                   "the other one has work, and is awake");
                    if (parked != outcome::awake) shared->parked.leave(shared->spots[1]);
                  }},
      .check = [=] { return !shared->parked.any(); }};
}

// Workers 0 and 1 send each other `rounds` messages in turn; then, when `hang` is set, both wait
// for one that nobody sends. The last to park says so, then and only then.
model::setup converse(int rounds, bool hang) {
  return [=] {
    struct worker {
      parking_spot<model_atomics> spot;
      model_atomics::atomic<int> mail{0};
      model_atomics::plain<int> waits_for;  // Read for the report.
      bool hung = false;
    };
    struct job {
      parked_count<model_atomics> parked{2};
      model_atomics::atomic<int> stop{0};
      std::array<worker, 2> workers;
    };
    auto shared = std::make_shared<job>();
    const auto thread = [=](std::size_t number) {
      return [=] {
        worker& me = shared->workers[number];
        worker& other = shared->workers[1 - number];
        int received = 0;
        const auto has_work = [&] {
          return me.mail.load(std::memory_order_acquire) > received ||
                 shared->stop.load(std::memory_order_acquire) == 1;
        };
        const auto wait = [&] {
          me.waits_for.set(received + 1);
          while (!has_work()) {
            const auto outcome = shared->parked.park(me.spot, has_work);
            if (outcome == parked_count<model_atomics>::outcome::awake) continue;
            if (outcome == parked_count<model_atomics>::outcome::last && !has_work()) {
              model::require(hang, "all parked only when nobody can go on");
              me.hung = true;
              (void)other.waits_for.get();
              shared->parked.leave(me.spot);
              shared->stop.store(1, std::memory_order_release);
              shared->parked.wake_if_parked(other.spot);
              return;
            }
            while (!me.spot.sleep(-1)) {
            }
          }
        };
        for (int turn = 0; turn < rounds; ++turn) {
          if (turn % 2 == static_cast<int>(number)) {
            other.mail.store(turn / 2 + 1, std::memory_order_release);
            shared->parked.wake_if_parked(other.spot);
          } else {
            wait();
            ++received;
          }
        }
        if (hang) wait();
      };
    };
    return scenario{.threads = {thread(0), thread(1)}, .check = [=] {
                      return shared->workers[0].hung != shared->workers[1].hung || !hang;
                    }};
  };
}

const std::vector<model::setup> scenarios{park(1, -1),
                                          park(2, -1),
                                          park(1, 0),
                                          hand_over(false),
                                          hand_over(true),
                                          park_beside_a_bell,
                                          hand_over_to_one_that_slept_elsewhere,
                                          look_at_the_others,
                                          wake_on_its_own,
                                          converse(2, false),
                                          converse(3, false),
                                          converse(1, true)};

TEST(parking_model, no_schedule_loses_a_wake_up) {
  const std::string failures = model::failures(scenarios, 3);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(parking_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_places(scenarios, 2), std::vector<std::string>{});
}

}  // namespace
}  // namespace weft
