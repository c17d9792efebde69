#include "sync/dropbox.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(dropbox, every_reader_gets_every_value_in_order) {
  dropbox<int, 2> box(2);
  dropbox<int, 2>::reader first(box);
  dropbox<int, 2>::reader second(box);
  EXPECT_EQ(first.peek(), nullptr);
  for (int value = 1; value <= 5; ++value) {
    ASSERT_TRUE(box.try_put(value));
    for (auto* reader : {&first, &second}) {
      ASSERT_NE(reader->peek(), nullptr);
      EXPECT_EQ(*reader->peek(), value);
      reader->done();
      EXPECT_EQ(reader->peek(), nullptr);
    }
  }
}

TEST(dropbox, the_writer_is_ahead_of_the_slowest_reader_by_no_more_than_the_slots) {
  dropbox<int, 2> box(2);
  dropbox<int, 2>::reader fast(box);
  dropbox<int, 2>::reader slow(box);
  ASSERT_TRUE(box.try_put(1));
  ASSERT_TRUE(box.try_put(2));
  EXPECT_FALSE(box.try_put(3));
  fast.done();
  EXPECT_FALSE(box.try_put(3));
  slow.done();
  EXPECT_TRUE(box.try_put(3));
  EXPECT_EQ(*fast.peek(), 2);
  EXPECT_EQ(*slow.peek(), 2);
}

}  // namespace
}  // namespace weft
