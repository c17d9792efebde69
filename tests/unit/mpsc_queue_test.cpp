#include "sync/mpsc_queue.hpp"

#include <gtest/gtest.h>

#include <array>

namespace weft {
namespace {

struct node {
  std_atomics::plain<node*> next;
};

TEST(mpsc_queue, nodes_come_out_in_the_order_they_went_in) {
  mpsc_queue<node> queue;
  std::array<node, 5> nodes;
  for (std::size_t i : {0, 1, 2}) queue.push(&nodes[i]);
  EXPECT_EQ(queue.try_pop(), &nodes[0]);
  for (std::size_t i : {3, 4}) queue.push(&nodes[i]);
  for (std::size_t i : {1, 2, 3, 4}) EXPECT_EQ(queue.try_pop(), &nodes[i]);
  EXPECT_EQ(queue.try_pop(), nullptr);
}

TEST(mpsc_queue, a_push_tells_whether_the_consumer_may_have_to_be_told) {
  mpsc_queue<node> queue;
  std::array<node, 3> nodes;
  EXPECT_TRUE(queue.push(&nodes[0]));
  EXPECT_FALSE(queue.push(&nodes[1]));
  EXPECT_EQ(queue.try_pop(), &nodes[0]);
  EXPECT_TRUE(queue.push(&nodes[2]));
}

TEST(mpsc_queue, a_node_that_came_out_may_go_in_again) {
  mpsc_queue<node> queue;
  node one;
  for (int round = 0; round < 3; ++round) {
    queue.push(&one);
    EXPECT_EQ(queue.try_pop(), &one);
    EXPECT_EQ(queue.try_pop(), nullptr);
  }
}

}  // namespace
}  // namespace weft
