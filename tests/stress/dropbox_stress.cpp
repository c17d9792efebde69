#include "sync/dropbox.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <vector>

#include "stress/stress.hpp"

namespace weft {
namespace {

constexpr std::size_t parties = 3;

struct content {
  std::uint64_t number = 0;
  std::uint64_t check = 0;
};

template <class From>
void await(const From& from, std::uint64_t number) {
  while (!from.holds(number)) std::this_thread::yield();
  EXPECT_EQ(from.content(number).number, number);
  EXPECT_EQ(from.content(number).check, ~number);
}
auto writing(std::uint64_t number) {
  return [number](content& to) { to = {number, ~number}; };
}

void together(const std::function<void(std::size_t)>& body) {
  std::vector<std::function<void()>> bodies;
  for (std::size_t party = 0; party < parties; ++party)
    bodies.push_back([&body, party] { body(party); });
  stress::run::together(bodies);
}

// The first party ends them all: its value of the last meeting says so.
TEST(dropbox_stress, every_party_gets_the_values_of_every_meeting) {
  const stress::run run;
  std::array<dropbox<content>, parties> boxes;
  std::atomic<std::uint64_t> last{~std::uint64_t{0}};
  together([&](std::size_t party) {
    std::minstd_rand random = run.random(party);
    for (std::uint64_t meeting = 1; meeting <= last; ++meeting) {
      if (random() % 64 == 0) std::this_thread::yield();
      if (party == 0 && !run.time_left()) last = meeting;
      boxes[party].publish(meeting, writing(meeting));
      for (const auto& box : boxes) await(box, meeting);
    }
  });
  EXPECT_GT(last, 1u);
}

TEST(dropbox_stress, every_party_gets_every_broadcast_from_changing_roots) {
  const stress::run run;
  using slots_type = broadcast_slots<content, 4>;
  std::array<dropbox<content>, parties> boxes;
  slots_type slots;
  std::atomic<std::uint64_t> last{~std::uint64_t{0}};
  together([&](std::size_t party) {
    std::uint64_t meeting = 0;
    for (std::uint64_t number = 1; number <= last; ++number) {
      if (slots_type::meets_before(number)) {
        ++meeting;
        // Before a meeting all are at the same broadcast.
        if (party == 0 && !run.time_left()) last = number;
        boxes[party].publish(meeting, writing(meeting));
        for (const auto& box : boxes) await(box, meeting);
      }
      if (number * 7 % 5 % parties == party) {
        EXPECT_TRUE(slots.try_take(number));
        slots.publish(number, writing(number));
      } else {
        await(slots, number);
      }
    }
  });
  EXPECT_GT(last, 1u);
}

}  // namespace
}  // namespace weft
