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
  std::array<model_atomics::atomic<int>, 5> is_dead;  // By who it is, from 1 on.
};
enum class fate : std::uint8_t { lives, dies_in_it };
struct part {
  std::uint64_t first;
  std::size_t count;
  fate end = fate::lives;
};

// Each thread adds one to each number of its part. One that dies has added to the first of them, and does not give its lock.
// `left`: parts whose locks have been left by somebody who died before.
model::setup adding(std::vector<part> parts, std::vector<part> left = {}) {
  return [parts, left] {
    auto shared = std::make_shared<state>();
    const auto take = [shared](std::uint32_t me, const part& of) -> lock& {
      const auto is_gone = [&](std::uint32_t holder) {
        return shared->is_dead[holder].load(std::memory_order_acquire) != 0;
      };
      const auto patiently = [&, me](lock& one) {
        while (!one.try_take_in_order(me) && !one.try_take_over_in_order(me, is_gone))
          model::wait_until([&] {
            const std::uint32_t holder = one.holder();
            return holder == lock::nobody || is_gone(holder);
          });
      };
      return of.count == 1 ? shared->guard.take_block(me, of.first, patiently)
                           : shared->guard.take_row(me, of.first, of.count, patiently);
    };
    scenario made;
    std::array<int, 4> wanted{};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const part of = parts[i];
      const auto me = static_cast<std::uint32_t>(i + 1);
      const std::size_t adds = of.end == fate::lives ? of.count : 1;
      for (std::size_t n = 0; n < adds; ++n) ++wanted[of.first + n];
      made.threads.push_back([shared, take, of, adds, me] {
        lock& held = take(me, of);
        for (std::size_t n = 0; n < adds; ++n) {
          auto& number = shared->numbers[of.first + n];
          number.set(number.get() + 1);
        }
        if (of.end == fate::lives)
          held.give();
        else
          shared->is_dead[me].store(1, std::memory_order_release);  // As the kernel tells it.
      });
    }
    const auto before = static_cast<std::uint32_t>(parts.size() + 1);
    for (const part& of : left) static_cast<void>(take(before, of));
    shared->is_dead[before].store(1, std::memory_order_relaxed);
    made.check = [shared, wanted] {
      for (std::size_t i = 0; i < wanted.size(); ++i)
        if (shared->numbers[i].get() != wanted[i]) return false;
      return true;
    };
    return made;
  };
}

constexpr fate dies = fate::dies_in_it;
const std::vector<model::setup> scenarios{
    adding({{0, 1}, {0, 1}}),         adding({{0, 1}, {0, 2}}),
    adding({{0, 2}, {0, 2}}),         adding({{0, 1}, {1, 1}, {0, 2}}),
    adding({{0, 1}, {0, 1}, {0, 2}}), adding({{0, 2}, {2, 1}, {2, 2}}),
};
// Of the last two somebody died in a row while it waited for a block: blocks 0 and 2 have one lock.
const std::vector<model::setup> deaths{
    adding({{0, 1, dies}, {0, 1}, {0, 2}}),     adding({{0, 2, dies}, {0, 1}, {1, 1}}),
    adding({{0, 2, dies}, {0, 2}, {0, 1}}),     adding({{0, 2, dies}, {0, 1, dies}, {0, 2}}),
    adding({{0, 2}, {0, 2}}, {{0, 2}}),         adding({{0, 2}, {0, 1}}, {{0, 2}, {2, 1}}),
    adding({{0, 2}, {2, 2}}, {{0, 2}, {2, 1}}),
};

TEST(word_locks_model, a_block_is_changed_by_one_at_a_time_by_itself_or_in_a_row) {
  const std::string failures = model::failures(scenarios, 2);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(word_locks_model, locks_of_the_dead_pass_to_one_at_a_time) {
  const std::string failures = model::failures(deaths, 2);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(word_locks_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_places(scenarios, 2), std::vector<std::string>{});
}

}  // namespace
}  // namespace weft
