// Groups of ranks: split, dup, create, self.
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "job.hpp"

namespace weft {
namespace {

TEST(split, orders_the_ranks_of_a_color_by_key_and_then_by_rank) {
  for (const char* map : {"block", "cyclic"}) {
    run_ranks(job_of(12, 3, map), [](communicator& world) {
      const communicator part = *world.split(world.rank() % 3, -(world.rank() / 6));
      EXPECT_EQ(part.size(), 4);
      // Colour c holds c, c+3 (key 0) and c+6, c+9 (key -1), which come first.
      const int c = world.rank() % 3;
      EXPECT_EQ(part.allgather(world.rank()), (std::vector{c + 6, c + 9, c, c + 3}));
      EXPECT_EQ(part.allgather(part.rank()), (std::vector{0, 1, 2, 3}));
    });
  }
}

TEST(split, gives_nothing_to_a_rank_without_a_color) {
  run_ranks(5, 2, [](communicator& world) {
    const std::optional<communicator> part = world.split(world.rank() < 2 ? undefined_color : 7);
    EXPECT_EQ(part.has_value(), world.rank() >= 2);
    if (part) {
      EXPECT_EQ(part->size(), 3);
      EXPECT_EQ(part->rank(), world.rank() - 2);
    }
  });
}

TEST(split, into_single_ranks_works) {
  run_ranks(6, 2, [](communicator& world) {
    const communicator alone = *world.split(world.rank());
    EXPECT_EQ(alone.size(), 1);
    alone.barrier();
    EXPECT_EQ(alone.allreduce(world.rank(), std::plus<>{}), world.rank());
    EXPECT_EQ(alone.bcast(world.rank(), 0), world.rank());
    alone.bsend(5, 0);
    EXPECT_EQ(alone.recv<int>(), 5);
  });
}

TEST(dup, is_the_same_group_with_traffic_of_its_own) {
  run_ranks(4, 2, [](communicator& world) {
    const communicator copy = world.dup();
    EXPECT_EQ(copy.rank(), world.rank());
    EXPECT_EQ(copy.size(), world.size());
    world.send(1, (world.rank() + 1) % 4);
    copy.send(2, (world.rank() + 1) % 4);
    EXPECT_EQ(copy.recv<int>(), 2);
    EXPECT_EQ(world.recv<int>(), 1);
  });
}

TEST(create, makes_a_communicator_of_the_listed_ranks_in_that_order) {
  run_ranks(8, 3, [](communicator& world) {
    const std::array listed{5, 1, 6};
    const std::optional<communicator> group = world.create(listed);
    const auto place = std::ranges::find(listed, world.rank());
    ASSERT_EQ(group.has_value(), place != listed.end());
    if (!group) return;
    EXPECT_EQ(group->rank(), place - listed.begin());
    EXPECT_EQ(group->allgather(world.rank()), (std::vector{5, 1, 6}));
    if (group->rank() == 0) group->send(world.rank(), 2);
    if (group->rank() == 2) {
      message_status status;
      EXPECT_EQ(group->recv<int>(any_source, any_tag, &status), 5);
      EXPECT_EQ(status.source, 0);
    }
  });
}

TEST(create, makes_a_communicator_of_each_of_several_disjoint_lists) {
  run_ranks(7, 3, [](communicator& world) {
    const int me = world.rank();
    // Rank 6 passes none, rank 5 one that does not name it.
    const std::vector<int> listed = me == 6       ? std::vector<int>{}
                                    : me % 2 == 0 ? std::vector{4, 0, 2}
                                    : me == 5     ? std::vector{4, 0, 2}
                                                  : std::vector{1, 3};
    const std::optional<communicator> group = world.create(listed);
    ASSERT_EQ(group.has_value(), me < 5);
    if (group) {
      EXPECT_EQ(group->allgather(me), listed);
    }
  });
}

TEST(create, refuses_lists_that_contradict_each_other_on_all_ranks) {
  run_ranks(5, 3, [](communicator& world) {
    const auto refusal = [&](const std::vector<int>& list, const std::string& why) {
      EXPECT_EQ(error_of([&] { (void)world.create(list); }),
                "create on communicator 0: " + why +
                    ": each listed rank must pass the same list, in the same order");
    };
    const int me = world.rank();
    const std::vector<int> none;
    // In two lists.
    refusal(me == 0 ? std::vector{0, 2} : std::vector{1, 2, 3},
            "rank 0 lists ranks 0, 2, but rank 2 lists ranks 1, 2, 3");
    refusal(me == 3 ? std::vector{1, 3} : std::vector{3, 1},
            "rank 0 lists ranks 3, 1, but rank 3 lists ranks 1, 3");
    refusal(me == 4 ? none : std::vector{2, 4},
            "rank 0 lists ranks 2, 4, but rank 4 lists no ranks");
    refusal(me == 4 ? std::vector{3} : none, "rank 4 lists rank 3, but rank 3 lists no ranks");
    // Nothing is broken, and nobody is left behind.
    EXPECT_EQ(world.create(std::vector{4, 1}).has_value(), me == 1 || me == 4);
    world.barrier();
  });
}

TEST(split_node, holds_the_ranks_of_one_node) {
  run_ranks(5, 2, [](communicator& world) {
    // Of processes with a rank each, when there are several nodes.
    const int per_node = tests::number_of_environment("TEST_PER_NODE", world.size());
    const int first = world.rank() / per_node * per_node;
    const communicator node = world.split_node();
    EXPECT_EQ(node.size(), std::min(per_node, world.size() - first));
    EXPECT_EQ(node.rank(), world.rank() - first);
  });
}

TEST(self, is_the_rank_alone) {
  run_ranks(3, 2, [](communicator& world) {
    const communicator self = world.self();
    EXPECT_EQ(self.size(), 1);
    EXPECT_EQ(self.rank(), 0);
    self.bsend(world.rank(), 0);
    EXPECT_EQ(self.recv<int>(), world.rank());
    self.barrier();
    EXPECT_EQ(self.allreduce(3, std::plus<>{}), 3);
  });
}

TEST(communicators, of_communicators_stay_apart) {
  run_ranks(16, 3, [](communicator& world) {
    communicator half = world;
    for (int n = 16; n > 1; n /= 2) {
      half = *half.split(half.rank() * 2 / n);
      EXPECT_EQ(half.size(), n / 2);
      EXPECT_EQ(half.allreduce(1, std::plus<>{}), n / 2);
    }
    world.barrier();
  });
}

TEST(communicators, may_be_made_and_dropped_10000_times) {
  // Between processes that share cores each round takes milliseconds.
  const bool slow = sanitized || tests::processes_of(job_of(3, 2)) > 1;
  const int rounds = slow ? 500 : 10'000;
  run_ranks(3, 2, [&](communicator& world) {
    for (int i = 0; i < rounds; ++i) {
      const std::optional<communicator> made =
          i % 3 == 0 ? world.dup() : world.split(i % 3 == 1 ? world.rank() % 2 : 0, -world.rank());
      if (i % 100 != 0) continue;
      int got = -1;
      const int next = (made->rank() + 1) % made->size();
      made->sendrecv(std::span(&i, 1), next, std::span(&got, 1), any_source);
      EXPECT_EQ(got, i);
    }
  });
}

TEST(communicators, may_all_live_at_once) {
  run_ranks(4, 2, [](communicator& world) {
    std::vector<communicator> all;
    for (int i = 0; i < 300; ++i) all.push_back(i % 2 == 0 ? world.dup() : *world.split(0, i));
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i].send(static_cast<int>(i), (world.rank() + 1) % 4);
    for (std::size_t i = all.size(); i-- > 0;) EXPECT_EQ(all[i].recv<int>(), static_cast<int>(i));
  });
}

TEST(communicators, are_cheap_handles_that_may_be_copied) {
  run_ranks(2, 1, [](communicator& world) {
    const communicator copy = world;
    if (copy.rank() == 0) {
      copy.send(4, 1);
    } else {
      EXPECT_EQ(world.recv<int>(), 4);
    }
  });
}

}  // namespace
}  // namespace weft
