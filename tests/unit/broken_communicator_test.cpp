// A rank that catches a failed collective and goes on: every other rank of that communicator is
// told, nobody waits for ever, and all else works as before.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "job.hpp"

namespace weft {
namespace {

void exchange_round_a_ring(communicator& world) {
  const int next = (world.rank() + 1) % world.size();
  const int before = (world.rank() + world.size() - 1) % world.size();
  world.send(world.rank(), next);
  EXPECT_EQ(world.recv<int>(before), before);
}

// All ranks make `call` on a communicator, which fails, and `part` is in what each of them is told.
void expect_broken(int ranks, const std::function<void(communicator&)>& call,
                   const std::string& part) {
  for (const int workers : {1, 2, ranks})
    run_ranks(ranks, workers, [&](communicator& world) {
      communicator broken = world.dup();
      expect_contains(error_of([&] { call(broken); }), part);
      for (int again = 0; again < 2; ++again)
        for (const std::string& later :
             {error_of([&] { broken.barrier(); }), error_of([&] { (void)broken.bcast(1, again); }),
              error_of([&] { (void)broken.allreduce(1, std::plus<>{}); }),
              error_of([&] { (void)broken.dup(); })}) {
          expect_contains(later, "on a broken communicator");
          expect_contains(later, part);
        }
      exchange_round_a_ring(broken);
      EXPECT_EQ(world.allreduce(1, std::plus<>{}), ranks);
    });
}

TEST(a_caught_mismatch, of_calls_is_thrown_by_every_rank_and_by_every_later_call) {
  for (const int ranks : {2, 5, 12})
    for (const int other : {0, ranks - 1})
      expect_broken(
          ranks,
          [&](communicator& c) {
            if (c.rank() == other)
              c.barrier();
            else
              (void)c.allreduce(1, std::plus<>{});
          },
          "collective mismatch");
}

TEST(a_caught_mismatch, of_large_data_is_thrown_by_every_rank) {
  expect_broken(
      6,
      [](communicator& c) {
        std::vector<int> data(c.rank() == 3 ? 10'000 : 20'000);
        c.allreduce(data, std::plus<>{});
      },
      "collective mismatch");
}

// As large as what other processes read and write in place.
TEST(a_caught_mismatch, of_a_large_broadcast_leaves_the_data_of_a_rank_alone_afterwards) {
  for (const int other : {0, 1, 3})
    run_ranks(4, 4, [&](communicator& world) {
      communicator broken = world.dup();
      std::vector<int> data(100'000, world.rank());
      expect_contains(error_of([&] {
                        if (broken.rank() == other)
                          broken.barrier();
                        else
                          broken.bcast(data, 0);
                      }),
                      "collective mismatch");
      std::ranges::fill(data, -1);
      world.barrier();
      EXPECT_EQ(std::ranges::count(data, -1), 100'000);
    });
}

TEST(a_caught_mismatch, of_broadcast_roots_is_thrown_by_every_rank_that_waits) {
  expect_broken(
      5,
      [](communicator& c) {
        // Nobody takes itself for the root, so everybody waits.
        (void)c.bcast(1, (c.rank() + 1) % c.size());
      },
      "collective mismatch");
}

TEST(broadcasts_that_nobody_meets, are_compared_when_the_job_has_ended) {
  const failed_job one = run_to_failure(alone(job_of(3, 2)), [](communicator& world) {
    if (world.rank() == 0) (void)world.bcast(7, 0);
  });
  EXPECT_EQ(one.status, 1);
  expect_contains(one.text, "collective mismatch on communicator 0");
  expect_contains(one.text, "rank 0 has called 1, the last a bcast of 4 bytes with root 0");
  expect_contains(one.text, "has called 0");
  const failed_job two = run_to_failure(alone(job_of(2, 1)), [](communicator& world) {
    (void)world.bcast(1, 0);
    if (world.rank() == 0) (void)world.bcast(2, 0);
  });
  EXPECT_EQ(two.status, 1);
  expect_contains(two.text, "rank 0 has called 2");
}

TEST(broadcasts_that_nobody_meets, are_compared_on_every_communicator) {
  // Kept to the end of the job, kept beyond it, and gone before it.
  std::vector<std::optional<communicator>> kept(4);
  for (const std::string how : {"kept", "kept beyond", "gone"}) {
    const failed_job ended = run_to_failure(alone(job_of(4, 2)), [&](communicator& world) {
      std::optional<communicator> half = world.split(world.rank() % 2, 0);
      (void)half->bcast(1, 0);
      if (world.rank() == 1) (void)half->bcast(7, 0);
      if (how == "gone") half.reset();
      world.barrier();
      if (how == "kept beyond") kept[std::size_t(world.rank())] = half;
    });
    EXPECT_EQ(ended.status, 1) << how;
    expect_contains(ended.text, "collective mismatch on communicator 2");
    expect_contains(ended.text, "rank 0 has called 2, the last a bcast of 4 bytes with root 0");
    expect_contains(ended.text, "rank 1 has called 1");
  }
}

TEST(a_non_blocking_call_that_is_refused, does_not_count_as_a_collective) {
  for (const int workers : {1, 3})
    run_ranks(3, workers, [](communicator& world) {
      std::vector<int> data(1);
      if (world.rank() == 1) {
        request refused = world.ibcast(data, 99);
        request after = world.ibcast(data, 0);
        expect_contains(error_of([&] { refused.wait(); }), "the communicator has ranks 0 to 2");
        after.wait();
      } else {
        // Long enough for rank 1 to ask whether the root is in the same call.
        if (world.rank() == 0) sleep_for(std::chrono::milliseconds(50));
        world.bcast(data, 0);
      }
      EXPECT_EQ(world.allreduce(1, std::plus<>{}), 3);
      (void)world.bcast(1, 0);  // Meets nobody: compared when the job has ended.
    });
}

TEST(a_caught_mismatch, of_the_number_of_broadcasts_is_thrown_by_those_that_went_on) {
  expect_broken(
      4,
      [](communicator& c) {
        if (c.rank() == 0) (void)c.bcast(1, 0);
        c.barrier();
      },
      "different broadcasts");
}

TEST(a_caught_mismatch, reaches_collectives_that_run_beside) {
  for (const int workers : {1, 3})
    run_ranks(6, workers, [](communicator& world) {
      communicator broken = world.dup();
      std::vector<int> in(world.rank() == 2 ? 1 : 2, 1), out(in.size());
      std::vector<request> under_way;
      for (int i = 0; i < 3; ++i) under_way.push_back(broken.iallreduce(in, out, std::plus<>{}));
      for (request& r : under_way) expect_contains(error_of([&] { r.wait(); }), "mismatch");
      exchange_round_a_ring(broken);
    });
}

TEST(a_caught_mismatch, may_be_of_a_communicator_that_goes_away) {
  for (const int workers : {1, 2, 5, 10})
    run_ranks(10, workers, [](communicator& world) {
      for (int round = 0; round < 50; ++round) {
        std::optional<communicator> half = world.split(world.rank() % 2, 0);
        expect_contains(error_of([&] {
                          if (world.rank() / 2 == round % 5)
                            half->barrier();
                          else
                            (void)half->allreduce(1, std::plus<>{});
                        }),
                        "mismatch");
        half.reset();
        exchange_round_a_ring(world);
      }
    });
}

// --- Operations that throw -----------------------------------------------------------------------

struct refuses {
  int operator()(int a, int b) const {
    if (a == 4 || b == 4)
      throw std::domain_error("no fours");  // Whichever ranks are combined first.
    return a + b;
  }
};

TEST(an_operation_that_throws, ends_a_small_reduction_of_every_rank) {
  for (const int workers : {1, 2, 6})
    run_ranks(6, workers, [](communicator& world) {
      communicator broken = world.dup();
      std::string told;
      try {
        (void)broken.allreduce(world.rank(), refuses{});
      } catch (const std::exception& e) {
        told = e.what();
      }
      expect_contains(told, "no fours");
      expect_contains(error_of([&] { broken.barrier(); }), "on a broken communicator");
      world.barrier();
    });
}

TEST(an_operation_that_throws, ends_a_large_reduction_of_every_rank) {
  for (const int workers : {1, 2, 6})
    run_ranks(6, workers, [](communicator& world) {
      communicator broken = world.dup();
      std::vector<int> in(50'000, world.rank() == 1 ? 4 : 0), out(in.size());
      std::string told;
      try {
        broken.allreduce(in, out, refuses{});
      } catch (const std::exception& e) {
        told = e.what();
      }
      expect_contains(told, "no fours");
      expect_contains(error_of([&] { broken.barrier(); }), "on a broken communicator");
      world.barrier();
    });
}

// Where each process has one rank, the others have combined shares of theirs without a failure, and wait.
TEST(an_operation_that_throws, in_the_share_of_one_rank_ends_the_reduction_of_all) {
  for (const int ranks : {2, 3})
    for (const bool all_get : {true, false})
      run_ranks(ranks, ranks, [&](communicator& world) {
        communicator broken = world.dup();
        std::vector<int> in(50'000), out(in.size());
        if (world.rank() == 1) in.back() = 4;
        std::string told;
        try {
          if (all_get)
            broken.allreduce(in, out, refuses{});
          else
            broken.reduce(in, out, refuses{}, 0);
        } catch (const std::exception& e) {
          told = e.what();
        }
        // Who gets nothing may have given all that others want of it before it hears.
        if (all_get || world.rank() == 0 || !told.empty()) expect_contains(told, "no fours");
        std::ranges::fill(out, -1);
        world.barrier();
        EXPECT_EQ(std::ranges::count(out, -1), 50'000);
        expect_contains(error_of([&] { broken.barrier(); }), "on a broken communicator");
      });
}

TEST(an_operation_that_throws, is_told_with_its_rank_to_the_others) {
  // In two workers only the parts of rank 1 hold a four; each process would combine all of them.
  run_ranks(alone(job_of(2, 2)), [](communicator& world) {
    std::vector<int> in(10'000), out(in.size());
    if (world.rank() == 1) in.back() = 4;
    std::string told;
    try {
      world.allreduce(in, out, refuses{});
    } catch (const std::exception& e) {
      told = e.what();
    }
    EXPECT_EQ(told, world.rank() == 1
                        ? "no fours"
                        : "allreduce of 40000 bytes on communicator 0 failed on rank 1: no fours");
  });
}

}  // namespace
}  // namespace weft
