// The queue and the pool together: users fill a packet, push it into the owner's inbox, and the
// owner sends it back to whom it belongs.
#include <gtest/gtest.h>

#include <array>
#include <atomic>

#include "stress/stress.hpp"
#include "sync/mpsc_queue.hpp"
#include "sync/pool.hpp"

namespace weft {
namespace {

struct packet {
  std_atomics::plain<packet*> next;
  std::size_t user = 0;
  std::uint64_t number = 0;
  std::uint64_t check = 0;
};

TEST(handoff_stack_stress, packets_arrive_in_order_and_return_to_their_pool) {
  constexpr std::size_t users = 3;
  const stress::run run;
  mpsc_queue<packet> inbox;
  std::array<std::uint64_t, users> sent{}, received{};
  std::atomic<std::size_t> users_left{users};
  std::array<std::unique_ptr<pool<packet>>, users> pools;
  for (auto& own : pools) own = std::make_unique<pool<packet>>(8);

  std::vector<std::function<void()>> bodies;
  for (std::size_t user = 0; user < users; ++user)
    bodies.push_back([&, user] {
      auto random = run.random(user);
      while (run.time_left()) {
        packet* mine = pools[user]->try_take();
        if (mine == nullptr) {
          std::this_thread::yield();
          continue;
        }
        if (random() % 4 == 0) {
          pools[user]->give_back(mine);
          continue;
        }
        mine->user = user;
        mine->number = sent[user]++;
        mine->check = ~mine->number;
        inbox.push(mine);
      }
      --users_left;
    });
  bodies.push_back([&] {
    for (;;) {
      const bool last = users_left == 0;
      packet* got = inbox.try_pop();
      if (got == nullptr) {
        if (last) return;
        std::this_thread::yield();
        continue;
      }
      EXPECT_EQ(got->number, received[got->user]++);
      EXPECT_EQ(got->check, ~got->number);
      pools[got->user]->give_back_remote(got);
    }
  });
  stress::run::together(bodies);
  EXPECT_EQ(sent, received);
  for (auto& own : pools) {
    int home = 0;
    while (own->try_take() != nullptr) ++home;
    EXPECT_EQ(home, 8);
  }
}

}  // namespace
}  // namespace weft
