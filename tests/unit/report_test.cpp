#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "job.hpp"

namespace weft {
namespace {

TEST(a_deadlock_report, names_the_cycle_of_a_communicator_of_some_ranks_by_their_numbers_in_the_job) {
  const failed_job job = run_to_failure(job_of(4, 2), [](communicator& world) {
    const communicator half = *world.split(world.rank() % 2);
    static_cast<void>(half.recv<int>(1 - half.rank(), 3));
  });
  EXPECT_EQ(job.status, 1);
  expect_contains(job.text, "cycle: rank 0 waits for rank 2 waits for rank 0");
  expect_contains(job.text, "rank 3: in recv, source 0, tag 3, 4 octets, communicator");
}

TEST(a_deadlock_report, says_who_is_missing_in_a_collective_that_does_not_block) {
  const failed_job job = run_to_failure(job_of(3, 2), [](communicator& world) {
    if (world.rank() == 1) return;
    request barrier = world.ibarrier();
    barrier.wait();
  });
  EXPECT_EQ(job.status, 1);
  expect_contains(job.text, "rank 0: in wait (collective), communicator 0; not there yet: 1");
  expect_contains(job.text, "rank 0 waits for rank 1, which has ended");
}

TEST(a_communicator, may_be_kept_for_longer_than_its_job) {
  std::optional<communicator> kept;
  run_ranks(2, 1, [&](communicator& world) {
    if (world.rank() == 0) kept = world;
  });
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->size(), 2);
}

}  // namespace
}  // namespace weft
