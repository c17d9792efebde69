// The sender has one thread for each partition. What it sends and where it arrives are plain fields, so that a copy which is
// made too early, twice or by nobody is a race or a wrong value. The ends of rounds are told as the product does, by whoever
// copies the last partition.
#include "sync/partition_board.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "model/checker.hpp"

namespace weft {
namespace {

using model::scenario;
using board = partition_board<model_atomics>;
using number = model_atomics::atomic<std::uint32_t>;

struct exchange {
  explicit exchange(std::size_t partitions)
      : partitions_of(partitions), source(partitions), target(partitions) {}
  board partitions_of;
  std::vector<model_atomics::plain<int>> source, target;
  number begun{0};  // Rounds that the sender has begun.
  number sent{0};   // Rounds that have ended, as each side is told.
  number received{0};

  void copy(std::size_t p, std::uint32_t round) {
    target[p].set(source[p].get());
    if (!partitions_of.arrive(p, round)) return;
    // The mail to both sides.
    sent.store(round, std::memory_order_release);
    received.store(round, std::memory_order_release);
  }
};

int value_of(std::size_t p, std::uint32_t round) {
  return static_cast<int>(10 * round + p);
}

void await(const number& n, std::uint32_t round) {
  model::wait_until([&] { return n.load(std::memory_order_acquire) >= round; });
}

// `looks`: the receiver asks for a partition before it waits for the round.
model::setup rounds(std::size_t partitions, std::uint32_t count, bool looks) {
  return [=] {
    auto e = std::make_shared<exchange>(partitions);
    scenario scene;
    for (std::size_t p = 0; p < partitions; ++p)
      scene.threads.push_back([=] {
        for (std::uint32_t r = 1; r <= count; ++r) {
          if (p == 0) {
            e->partitions_of.begin_sending();
            e->begun.store(r, std::memory_order_release);
          } else {
            await(e->begun, r);
          }
          e->source[p].set(value_of(p, r));
          const partition_turn turn = e->partitions_of.mark(p, r);
          model::require(turn != partition_turn::twice, "ready once");
          if (turn == partition_turn::copy) e->copy(p, r);
          await(e->sent, r);
        }
      });
    scene.threads.push_back([=] {
      for (std::uint32_t r = 1; r <= count; ++r) {
        for (std::size_t p = 0; p < partitions; ++p) e->target[p].set(-1);
        e->partitions_of.begin_receiving(r);
        for (std::size_t p = 0; p < partitions; ++p)
          if (e->partitions_of.take(p, r)) e->copy(p, r);
        if (looks && e->partitions_of.has_arrived(0, r))
          model::require(e->target[0].get() == value_of(0, r), "what has arrived");
        await(e->received, r);
        for (std::size_t p = 0; p < partitions; ++p)
          model::require(e->partitions_of.has_arrived(p, r) && e->target[p].get() == value_of(p, r),
                         "all of the round");
      }
    });
    return scene;
  };
}

// Somebody else waits for the round and reads what has arrived.
model::setup observed(std::size_t partitions) {
  return [=] {
    auto e = std::make_shared<exchange>(partitions);
    e->partitions_of.begin_sending();
    e->partitions_of.begin_receiving(1);
    scenario scene;
    for (std::size_t p = 0; p < partitions; ++p)
      scene.threads.push_back([=] {
        e->source[p].set(value_of(p, 1));
        model::require(e->partitions_of.mark(p, 1) == partition_turn::copy,
                       "the receiver has begun");
        e->target[p].set(e->source[p].get());
        (void)e->partitions_of.arrive(p, 1);
      });
    scene.threads.push_back([=] {
      model::wait_until([&] { return e->partitions_of.all_arrived(); });
      for (std::size_t p = 0; p < partitions; ++p)
        model::require(e->target[p].get() == value_of(p, 1), "what all have copied");
    });
    return scene;
  };
}

TEST(partition_board_model, every_schedule_copies_each_partition_once) {
  EXPECT_EQ(model::failures({rounds(1, 2, true), rounds(2, 1, true), observed(2)}, 3), "");
  EXPECT_EQ(model::failures({rounds(2, 2, false)}, 2), "");
}

TEST(partition_board_model, every_label_is_needed) {
  EXPECT_EQ(model::unneeded_places({rounds(1, 2, true), rounds(2, 1, true), observed(2)}, 3),
            std::vector<std::string>{});
}

}  // namespace
}  // namespace weft
