#include "sync/announcements.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "model/checker.hpp"
#include "sync/parking.hpp"

namespace weft {
namespace {

using model::scenario;

// A ring of nothing but how many records are in it, and whose consumer watches it or not.
struct ring {
  model_atomics::atomic<int> records{0};
  watch_flag<model_atomics> watch;
};

struct consumer_side {
  std::array<std::size_t, 2> index_of;  // Of the bits of the rings.
  std::array<ring, 2> rings;
  announcements<model_atomics, 2> announced;
  parking_spot<model_atomics> spot;
};

void publish(consumer_side& to, std::size_t which, int number) {
  to.rings[which].records.store(number, std::memory_order_release);
  if (to.rings[which].watch.is_watched()) return;
  to.announced.announce(to.index_of[which]);
  (void)to.spot.wake_if_parked();
}

class consumer {
 public:
  explicit consumer(std::shared_ptr<consumer_side> mine) : mine_(std::move(mine)) {}

  [[nodiscard]] int seen() const { return seen_[0] + seen_[1]; }

  // True when something came.
  bool poll() {
    if (mine_->announced.any())
      mine_->announced.take([this](std::size_t index) {
        const std::size_t which = index == mine_->index_of[0] ? 0 : 1;
        watched_[which] = true;
        mine_->rings[which].watch.watch();
        model::require(mine_->rings[which].records.load(std::memory_order_relaxed) > 0,
                       "who takes a bit sees the record behind it");
      });
    const int before = seen();
    for (std::size_t which : {0u, 1u})
      if (watched_[which]) look(which);
    return seen() != before;
  }

  // Stops looking at rings that are silent for the moment.
  void sweep() {
    stop();
    watch_flag<model_atomics>::settle();
    for (std::size_t which : {0u, 1u}) {
      if (!watched_[which]) continue;
      watched_[which] = look(which);
      if (watched_[which]) mine_->rings[which].watch.watch();
    }
  }

  void sleep() {
    stop();
    mine_->spot.announce();
    bool something = mine_->announced.any();
    for (std::size_t which : {0u, 1u}) something = (watched_[which] && look(which)) || something;
    if (!something)
      while (!mine_->spot.sleep(-1)) {
      }
    (void)mine_->spot.cancel();
    for (std::size_t which : {0u, 1u})
      if (watched_[which]) mine_->rings[which].watch.watch();
  }

 private:
  void stop() {
    for (std::size_t which : {0u, 1u})
      if (watched_[which]) mine_->rings[which].watch.stop();
  }
  bool look(std::size_t which) {
    const int records = mine_->rings[which].records.load(std::memory_order_acquire);
    const bool more = records > seen_[which];
    seen_[which] = records;
    return more;
  }

  std::shared_ptr<consumer_side> mine_;
  std::array<int, 2> seen_{};
  std::array<bool, 2> watched_{};
};

// Where the bit of the second ring is; that of the first is 0.
constexpr std::size_t same_word = 1;
constexpr std::size_t second_word = 64;

// Producers of the rings publish so many records; the consumer sleeps whenever it finds nothing,
// after a sweep when that is asked for, and must get them all.
model::setup transfer(std::vector<int> counts, bool sweeps, std::size_t second) {
  return [=] {
    auto shared = std::make_shared<consumer_side>();
    shared->index_of = {0, second};
    std::vector<std::function<void()>> threads{[=] {
      consumer me(shared);
      int all = 0;
      for (int count : counts) all += count;
      while (me.seen() < all) {
        if (me.poll()) continue;
        if (sweeps) me.sweep();
        if (me.seen() < all) me.sleep();
      }
    }};
    for (std::size_t which = 0; which < counts.size(); ++which)
      if (counts[which] > 0)
        threads.emplace_back([=] {
          for (int i = 1; i <= counts[which]; ++i) publish(*shared, which, i);
        });
    return scenario{.threads = threads};
  };
}

// The producer sleeps for want of room, which the consumer gives.
scenario full_ring() {
  struct sides {
    model_atomics::atomic<int> room{0};
    room_request<model_atomics> request;
    parking_spot<model_atomics> spot;
  };
  auto shared = std::make_shared<sides>();
  return {.threads = {[=] {
                        while (shared->room.load(std::memory_order_acquire) == 0) {
                          shared->request.want();
                          shared->spot.announce();
                          if (shared->room.load(std::memory_order_acquire) == 0)
                            while (!shared->spot.sleep(-1)) {
                            }
                          (void)shared->spot.cancel();
                          shared->request.withdraw();
                        }
                      },
                      [=] {
                        shared->room.store(1, std::memory_order_release);
                        if (shared->request.take_request()) (void)shared->spot.wake_if_parked();
                      }}};
}

const std::vector<model::setup> scenarios{
    transfer({2}, false, same_word),
    transfer({0, 2}, false, second_word),
    transfer({1, 1}, false, second_word),
    transfer({2}, true, same_word),
    transfer({1, 1}, false, same_word),  // A bit may be taken for the sake of another one.
    full_ring};

TEST(announcements_model, no_schedule_overlooks_a_record_or_a_request_for_room) {
  const std::string failures = model::failures(scenarios, 3);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(announcements_model, each_ordering_is_needed) {
  // What parking_spot promises to whoever it wakes is of no use here: the consumer looks itself.
  EXPECT_EQ(model::unneeded_places(scenarios, 2, "parking.hpp"), std::vector<std::string>{});
}

}  // namespace
}  // namespace weft
