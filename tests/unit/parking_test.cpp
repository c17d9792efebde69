#include "sync/parking.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <utility>

namespace weft {
namespace {

TEST(parking, nobody_is_woken_while_nobody_is_parked) {
  parking_spot<> spot;
  EXPECT_FALSE(spot.is_parked());
  EXPECT_FALSE(spot.wake_if_parked());
}

TEST(parking, a_wake_up_between_announcing_and_sleeping_is_not_lost) {
  parking_spot<> spot;
  spot.announce();
  EXPECT_TRUE(spot.is_parked());
  EXPECT_TRUE(spot.wake_if_parked());
  EXPECT_FALSE(spot.wake_if_parked());
  EXPECT_TRUE(spot.sleep(-1));
}

TEST(parking, a_cancelled_announcement_tells_whether_a_waker_was_faster) {
  parking_spot<> spot;
  spot.announce();
  EXPECT_TRUE(spot.cancel());
  EXPECT_FALSE(spot.wake_if_parked());
  spot.announce();
  EXPECT_TRUE(spot.wake_if_parked());
  EXPECT_FALSE(spot.cancel());
}

TEST(parking, a_sleep_with_a_limit_ends_without_a_waker) {
  parking_spot<> spot;
  spot.announce();
  EXPECT_FALSE(spot.sleep(1'000'000));
  EXPECT_TRUE(spot.cancel());
}

TEST(parking, a_sleeper_is_woken_by_another_thread) {
  parking_spot<> spot;
  spot.announce();
  std::jthread waker([&] { EXPECT_TRUE(spot.wake_if_parked()); });
  while (!spot.sleep(-1)) {
  }
  EXPECT_FALSE(spot.is_parked());
}

TEST(parking, works_where_the_kernel_offers_no_heavy_fence) {
  const bool offered = std::exchange(asymmetric::kernel_fences, false);
  parking_spot<> spot;
  spot.announce();
  EXPECT_TRUE(spot.wake_if_parked());
  asymmetric::kernel_fences = offered;
}

}  // namespace
}  // namespace weft
