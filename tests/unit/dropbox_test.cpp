#include "sync/dropbox.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

auto writing(int value) {
  return [value](int& content) { content = value; };
}

TEST(dropbox, holds_what_was_published_for_a_meeting) {
  dropbox<int> box;
  for (std::uint64_t meeting = 1; meeting <= 5; ++meeting) {
    EXPECT_FALSE(box.holds(meeting));
    box.publish(meeting, writing(static_cast<int>(10 * meeting)));
    EXPECT_TRUE(box.holds(meeting));
    EXPECT_EQ(box.content(meeting), static_cast<int>(10 * meeting));
  }
}

TEST(dropbox, keeps_a_meeting_for_slow_readers_while_the_next_is_published) {
  dropbox<int> box;
  box.publish(1, writing(10));
  box.publish(2, writing(20));
  EXPECT_TRUE(box.holds(1));
  EXPECT_EQ(box.content(1), 10);
  EXPECT_EQ(box.content(2), 20);
}

TEST(broadcast_slots, hold_what_the_one_who_took_a_slot_published) {
  broadcast_slots<int, 4> slots;
  for (std::uint64_t number = 1; number <= 13; ++number) {
    ASSERT_TRUE(slots.try_take(number));
    EXPECT_FALSE(slots.holds(number));
    slots.publish(number, writing(static_cast<int>(10 * number)));
    EXPECT_TRUE(slots.holds(number));
    EXPECT_EQ(slots.content(number), static_cast<int>(10 * number));
  }
}

TEST(broadcast_slots, are_taken_once_for_each_broadcast) {
  broadcast_slots<int, 4> slots;
  for (std::uint64_t number = 1; number <= 13; ++number) {
    ASSERT_TRUE(slots.try_take(number));
    EXPECT_FALSE(slots.try_take(number));
    slots.publish(number, writing(1));
    EXPECT_FALSE(slots.try_take(number));
  }
}

TEST(broadcast_slots, may_be_left_out_by_some_broadcasts) {
  broadcast_slots<int, 4> slots;
  ASSERT_TRUE(slots.try_take(9));  // Neither 1 nor 5 took it.
  EXPECT_FALSE(slots.holds(9));
  slots.publish(9, writing(90));
  ASSERT_TRUE(slots.try_take(21));
  EXPECT_FALSE(slots.holds(21));
}

TEST(broadcast_slots, have_a_meeting_before_any_slot_is_used_again) {
  using slots = broadcast_slots<int, 4>;
  for (std::uint64_t number = 1; number <= 20; ++number) {
    int meetings = 0;
    for (std::uint64_t later = number + 1; later <= number + 4; ++later)
      meetings += slots::meets_before(later);
    EXPECT_EQ(meetings, 1);
  }
}

}  // namespace
}  // namespace weft
