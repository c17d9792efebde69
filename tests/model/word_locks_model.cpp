#include "sync/word_locks.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "model/checker.hpp"

namespace weft {
namespace {

using model::scenario;
using locks =
    basic_word_locks<2, 2, 2,
                     model_atomics>;  // Blocks 0 and 2 have one lock, and groups of their own.
using lock = locks::lock;

// One number in each of four blocks.
struct state {
  locks guard;
  std::array<model_atomics::plain<int>, 4> numbers;
};
struct part {
  std::uint64_t first;
  std::size_t count;
};

// Each thread adds one to each number of its part.
model::setup adding(std::vector<part> parts) {
  return [parts] {
    auto shared = std::make_shared<state>();
    std::array<int, 4> wanted{};
    scenario made;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const part of = parts[i];
      const auto me = static_cast<std::uint32_t>(i + 1);
      for (std::size_t n = 0; n < of.count; ++n) ++wanted[of.first + n];
      made.threads.push_back([shared, of, me] {
        const auto patiently = [me](lock& one) {
          while (!one.try_take_in_order(me))
            model::wait_until([&] { return one.holder() == lock::nobody; });
        };
        lock& held = of.count == 1 ? shared->guard.take_block(me, of.first, patiently)
                                   : shared->guard.take_row(me, of.first, of.count, patiently);
        for (std::size_t n = 0; n < of.count; ++n) {
          auto& number = shared->numbers[of.first + n];
          number.set(number.get() + 1);
        }
        held.give();
      });
    }
    made.check = [shared, wanted] {
      for (std::size_t i = 0; i < wanted.size(); ++i)
        if (shared->numbers[i].get() != wanted[i]) return false;
      return true;
    };
    return made;
  };
}

const std::vector<model::setup> scenarios{
    adding({{0, 1}, {0, 1}}),         adding({{0, 1}, {0, 2}}),
    adding({{0, 2}, {0, 2}}),         adding({{0, 1}, {1, 1}, {0, 2}}),
    adding({{0, 1}, {0, 1}, {0, 2}}), adding({{0, 2}, {2, 1}, {2, 2}}),
};

TEST(word_locks_model, a_block_is_changed_by_one_at_a_time_by_itself_or_in_a_row) {
  const std::string failures = model::failures(scenarios, 2);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(word_locks_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_places(scenarios, 2), std::vector<std::string>{});
}

}  // namespace
}  // namespace weft
