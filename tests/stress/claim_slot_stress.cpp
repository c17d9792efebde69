#include "sync/claim_slot.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>

#include "stress/stress.hpp"

namespace weft {
namespace {

TEST(claim_slot_stress, each_chunk_of_each_loop_runs_once_while_the_loop_is_open) {
  const stress::run run;
  claim_slot<> slot;
  std::uint64_t loop = 0;                    // Written between loops, read by claimers.
  std::array<std::uint64_t, 64> last_run{};  // By chunk: the loop that ran it last.
  std::atomic<bool> over{false};
  const auto run_claimed = [&](const chunk_claim& claim) {
    if (!claim) return false;
    for (std::int64_t chunk = claim.first; chunk < claim.last; ++chunk) {
      auto& last = last_run[static_cast<std::size_t>(chunk)];
      EXPECT_LT(last, loop);
      last = loop;
    }
    slot.finish(claim.last - claim.first);
    return true;
  };
  const auto owner = [&] {
    auto random = run.random(0);
    while (run.time_left()) {
      const auto count = static_cast<std::int64_t>(random() % 64 + 1);
      ++loop;
      slot.open(count);
      while (run_claimed(slot.claim_front(1))) {
      }
      while (!slot.finished()) std::this_thread::yield();
      for (std::size_t chunk = 0; chunk < static_cast<std::size_t>(count); ++chunk)
        EXPECT_EQ(last_run[chunk], loop);
    }
    over = true;
  };
  const auto thief = [&](std::size_t number) {
    return [&, number] {
      auto random = run.random(number);
      while (!over)
        if (slot.remaining() <= 0 ||
            !run_claimed(slot.claim_back(static_cast<std::int64_t>(random() % 4 + 1))))
          std::this_thread::yield();
    };
  };
  stress::run::together({owner, thief(1), thief(2)});
  EXPECT_GT(loop, 0u);
}

}  // namespace
}  // namespace weft
