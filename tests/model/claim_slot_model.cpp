#include "sync/claim_slot.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "model/checker.hpp"

namespace weft {
namespace {

using model::scenario;

// One owner runs loops of the given chunk counts one after another; thieves claim as they please.
// What a loop is (`loop`) and what its chunks produce (`result`) are plain fields: any schedule in
// which a thief touches a loop that has ended is a race.
template <class Slot = claim_slot<model_atomics>>
model::setup loops(std::vector<std::int64_t> counts, int thieves, std::int64_t want) {
  return [=] {
    struct state {
      Slot slot;
      model_atomics::plain<std::int64_t> loop;
      std::array<model_atomics::plain<std::int64_t>, 4> result;
    };
    auto shared = std::make_shared<state>();
    const auto claim_and_run = [=](auto claim_some) {
      const chunk_claim claim = (shared->slot.*claim_some)(want);
      if (!claim) return false;
      for (std::int64_t chunk = claim.first; chunk < claim.last; ++chunk)
        shared->result[static_cast<std::size_t>(chunk)].set(100 * shared->loop.get() + chunk);
      shared->slot.finish(claim.last - claim.first);
      return true;
    };
    scenario scene;
    scene.threads.push_back([=] {
      for (std::size_t i = 0; i < counts.size(); ++i) {
        const auto loop = static_cast<std::int64_t>(i + 1);
        shared->loop.set(loop);
        shared->slot.open(counts[i]);
        while (claim_and_run(&Slot::claim_front)) {
        }
        model::wait_until([&] { return shared->slot.finished(); });
        for (std::int64_t chunk = 0; chunk < counts[i]; ++chunk) {
          auto& result = shared->result[static_cast<std::size_t>(chunk)];
          model::require(result.get() == 100 * loop + chunk, "each chunk done once, by its loop");
          result.set(0);
        }
      }
    });
    for (int thief = 0; thief < thieves; ++thief)
      scene.threads.push_back([=] {
        if (shared->slot.remaining() > 0) claim_and_run(&Slot::claim_back);
      });
    scene.check = [=] { return shared->slot.finished() && !shared->slot.claim_back(1); };
    return scene;
  };
}

const std::vector<model::setup> scenarios{
    loops({2}, 2, 1),     // Every chunk has one executor.
    loops({3}, 1, 2),     // A claim of two takes what is left.
    loops({1, 1}, 1, 1),  // A thief that comes late gets the next loop or nothing.
    loops({2, 1}, 2, 1),
};

TEST(claim_slot_model, every_schedule_runs_each_chunk_once_while_its_loop_is_open) {
  const std::string failures = model::failures(scenarios, 3);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(claim_slot_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_places(scenarios, 2), std::vector<std::string>{});
}

}  // namespace
}  // namespace weft
