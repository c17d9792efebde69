#include "sync/claim_slot.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(claim_slot, the_owner_claims_from_the_front_and_the_last_claim_may_be_short) {
  claim_slot<> slot;
  EXPECT_TRUE(slot.finished());
  EXPECT_FALSE(slot.claim_front(1));
  slot.open(5);
  EXPECT_EQ(slot.remaining(), 5);
  for (const std::int64_t first : {0, 2, 4}) {
    const chunk_claim claim = slot.claim_front(2);
    ASSERT_TRUE(claim);
    EXPECT_EQ(claim.first, first);
    EXPECT_EQ(claim.last, std::min<std::int64_t>(first + 2, 5));
  }
  EXPECT_FALSE(slot.claim_front(2));
}

TEST(claim_slot, thieves_claim_from_the_back_until_they_meet_the_owner) {
  claim_slot<> slot;
  slot.open(8);
  const auto expect = [](const chunk_claim& claim, std::int64_t first, std::int64_t last) {
    EXPECT_EQ(claim.first, first);
    EXPECT_EQ(claim.last, last);
  };
  expect(slot.claim_back(2), 6, 8);
  expect(slot.claim_front(3), 0, 3);
  expect(slot.claim_back(2), 4, 6);
  expect(slot.claim_front(3), 3, 4);
  EXPECT_FALSE(slot.claim_back(1));
  EXPECT_FALSE(slot.claim_front(1));
}

TEST(claim_slot, a_loop_is_finished_when_all_claims_are) {
  claim_slot<> slot;
  slot.open(3);
  (void)slot.claim_front(1);
  (void)slot.claim_back(2);
  EXPECT_FALSE(slot.finish(2));
  EXPECT_FALSE(slot.finished());
  EXPECT_TRUE(slot.finish(1));
  EXPECT_TRUE(slot.finished());
}

TEST(claim_slot, failed_claims_do_not_disturb_the_next_loop) {
  claim_slot<> slot;
  for (int loop = 0; loop < 3; ++loop) {
    for (int i = 0; i < 10; ++i) {
      EXPECT_FALSE(slot.claim_front(4));
      EXPECT_FALSE(slot.claim_back(4));
    }
    slot.open(1);
    const chunk_claim claim = slot.claim_back(4);
    EXPECT_EQ(claim.first, 0);
    EXPECT_EQ(claim.last, 1);
    EXPECT_TRUE(slot.finish(1));
  }
}

}  // namespace
}  // namespace weft
