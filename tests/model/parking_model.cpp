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

// Who is woken, by sleep() or by a cancel() that came too late, sees what its waker did before.
scenario hand_over() {
  auto shared = std::make_shared<shared_work>();
  return scenario{.threads = {[=] {
                                shared->spot.announce();
                                // False for a sleep that ended for no reason.
                                if (shared->spot.sleep(0) || !shared->spot.cancel())
                                  (void)shared->from_waker.get();
                              },
                              [=] {
                                shared->from_waker.set(1);
                                shared->spot.wake_if_parked();
                              }}};
}

const std::vector<model::setup> scenarios{park(1, -1), park(2, -1), park(1, 0), hand_over};

TEST(parking_model, no_schedule_loses_a_wake_up) {
  const std::string failures = model::failures(scenarios, 3);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(parking_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_labels(scenarios, 2), std::vector<std::string>{});
}

}  // namespace
}  // namespace weft
