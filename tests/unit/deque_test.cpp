#include "sync/deque.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

using deque_type = deque<int, 4>;

TEST(deque, the_owner_pops_the_newest_and_a_thief_steals_the_oldest) {
  deque_type values;
  deque_type::owner owner(values);
  deque_type::thief thief(values);
  for (const int value : {1, 2, 3}) ASSERT_TRUE(owner.try_push(value));
  EXPECT_EQ(owner.try_pop(), 3);
  EXPECT_EQ(thief.try_steal(), 1);
  EXPECT_EQ(owner.try_pop(), 2);
  EXPECT_EQ(owner.try_pop(), std::nullopt);
  EXPECT_EQ(thief.try_steal(), std::nullopt);
}

TEST(deque, push_to_a_full_deque_fails_and_loses_nothing) {
  deque_type values;
  deque_type::owner owner(values);
  deque_type::thief thief(values);
  for (const int value : {1, 2, 3, 4}) ASSERT_TRUE(owner.try_push(value));
  EXPECT_FALSE(owner.try_push(5));
  EXPECT_EQ(thief.try_steal(), 1);
  EXPECT_TRUE(owner.try_push(5));
  for (const int value : {2, 3, 4, 5}) EXPECT_EQ(thief.try_steal(), value);
}

TEST(deque, positions_go_round_the_slots) {
  deque_type values;
  deque_type::owner owner(values);
  deque_type::thief thief(values);
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(owner.try_push(10 * round + i));
    EXPECT_EQ(thief.try_steal(), 10 * round);
    EXPECT_EQ(owner.try_pop(), 10 * round + 2);
    EXPECT_EQ(owner.try_pop(), 10 * round + 1);
    EXPECT_EQ(owner.try_pop(), std::nullopt);
  }
}

template <class Side>
concept pushes = requires(Side side) {
  side.try_push(1);
};
static_assert(pushes<deque_type::owner> && !pushes<deque_type::thief> && !pushes<deque_type>);

}  // namespace
}  // namespace weft
