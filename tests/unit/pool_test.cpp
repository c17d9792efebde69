#include "sync/pool.hpp"

#include <gtest/gtest.h>

#include <set>

namespace weft {
namespace {

struct object {
  int content = 7;
};

TEST(pool, gives_each_object_once_and_then_none) {
  pool<object> objects(3);
  std::set<object*> taken;
  for (int i = 0; i < 3; ++i) taken.insert(objects.try_take());
  EXPECT_EQ(taken.size(), 3u);
  EXPECT_EQ(taken.count(nullptr), 0u);
  EXPECT_EQ(objects.try_take(), nullptr);
}

TEST(pool, objects_are_made_with_the_pool_and_come_back_as_they_were_left) {
  pool<object> objects(1);
  object* one = objects.try_take();
  EXPECT_EQ(one->content, 7);
  one->content = 8;
  objects.give_back(one);
  EXPECT_EQ(objects.try_take(), one);
  EXPECT_EQ(one->content, 8);
}

TEST(pool, what_others_gave_back_is_taken_when_the_own_objects_are_out) {
  pool<object> objects(2);
  object* first = objects.try_take();
  object* second = objects.try_take();
  objects.give_back_remote(first);
  objects.give_back(second);
  EXPECT_EQ(objects.try_take(), second);
  EXPECT_EQ(objects.try_take(), first);
  EXPECT_EQ(objects.try_take(), nullptr);
}

TEST(pool, of_no_objects_gives_none) {
  pool<object> objects(0);
  EXPECT_EQ(objects.try_take(), nullptr);
}

}  // namespace
}  // namespace weft
