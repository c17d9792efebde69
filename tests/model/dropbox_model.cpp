// The parties are workers; what they publish is a plain field, so that a slot which is written while
// somebody may still read it is a race. The reading order is that of src/collective/collectives.cpp.
#include "sync/dropbox.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "model/checker.hpp"

namespace weft {
namespace {

using model::scenario;
using content = model_atomics::plain<int>;

template <std::size_t Slots = 2>
using box = dropbox<content, model_atomics, Slots>;

auto writing(int value) {
  return [value](content& to) { to.set(value); };
}
int value_of(std::size_t party, std::uint64_t meeting) {
  return static_cast<int>(100 * meeting + party);
}

template <class Box>
int await(const Box& from, std::uint64_t number) {
  model::wait_until([&] { return from.holds(number); });
  return from.content(number).get();
}

// Everybody reads everybody.
template <class Boxes>
void meet(Boxes& boxes, std::size_t party, std::uint64_t meeting) {
  boxes[party].publish(meeting, writing(value_of(party, meeting)));
  for (std::size_t other = 0; other < boxes.size(); ++other)
    if (other != party)
      model::require(await(boxes[other], meeting) == value_of(other, meeting),
                     "the other's value of this meeting");
}

template <std::size_t Slots = 2>
model::setup meetings(std::size_t parties, std::uint64_t count) {
  return [=] {
    auto boxes = std::make_shared<std::vector<box<Slots>>>(parties);
    scenario scene;
    for (std::size_t party = 0; party < parties; ++party)
      scene.threads.push_back([=] {
        for (std::uint64_t m = 1; m <= count; ++m) meet(*boxes, party, m);
      });
    return scene;
  };
}

// Each party also writes memory of its own beside its dropbox, `Halves` of it by turns, before it publishes, and reads
// the others' when it has heard all: as parts are passed in src/collective/exchange.cpp.
template <std::size_t Halves = 2>
model::setup passing(std::size_t parties, std::uint64_t count) {
  return [=] {
    struct shared {
      explicit shared(std::size_t number) : boxes(number), beside(number) {}
      std::vector<box<>> boxes;
      std::vector<std::array<content, Halves>> beside;
    };
    auto all = std::make_shared<shared>(parties);
    scenario scene;
    for (std::size_t party = 0; party < parties; ++party)
      scene.threads.push_back([=] {
        for (std::uint64_t m = 1; m <= count; ++m) {
          all->beside[party][m % Halves].set(-value_of(party, m));
          meet(all->boxes, party, m);
          for (std::size_t other = 0; other < parties; ++other)
            model::require(all->beside[other][m % Halves].get() == -value_of(other, m),
                           "what the other has passed in this meeting");
        }
      });
    return scene;
  };
}

// Up a tree, which `parents` gives (the root's is itself), and down from its root in one hop.
model::setup climbs(std::vector<std::size_t> parents, std::uint64_t count) {
  return [=] {
    struct shared {
      explicit shared(std::size_t parties) : up(parties) {}
      std::vector<box<>> up;
      box<> result;
    };
    auto all = std::make_shared<shared>(parents.size());
    scenario scene;
    for (std::size_t party = 0; party < parents.size(); ++party)
      scene.threads.push_back([=] {
        for (std::uint64_t m = 1; m <= count; ++m) {
          int sum = value_of(party, m);
          for (std::size_t child = 1; child < parents.size(); ++child)
            if (parents[child] == party) sum += await(all->up[child], m);
          if (party == 0) {
            all->result.publish(m, writing(sum));
            continue;
          }
          all->up[party].publish(m, writing(sum));
          int expected = 0;
          for (std::size_t other = 0; other < parents.size(); ++other)
            expected += value_of(other, m);
          model::require(await(all->result, m) == expected, "the sum over all");
        }
      });
    return scene;
  };
}

// Broadcasts 1 to `count`, by turns or from the first alone; two slots, so that a slot is used again
// soon.
model::setup broadcasts(std::size_t parties, std::uint64_t count, bool by_turns,
                        bool meeting = true) {
  return [=] {
    struct shared {
      explicit shared(std::size_t number) : boxes(number) {}
      std::vector<box<>> boxes;
      broadcast_slots<content, 2, model_atomics> slots;
    };
    auto all = std::make_shared<shared>(parties);
    scenario scene;
    for (std::size_t party = 0; party < parties; ++party)
      scene.threads.push_back([=] {
        std::uint64_t met = 0;
        for (std::uint64_t n = 1; n <= count; ++n) {
          if (meeting && all->slots.meets_before(n)) meet(all->boxes, party, ++met);
          const std::size_t root = by_turns ? n % parties : 0;
          if (party == root) {
            model::require(all->slots.try_take(n), "the root gets the slot");
            all->slots.publish(n, writing(value_of(root, n)));
          } else {
            model::require(await(all->slots, n) == value_of(root, n), "the root's value");
          }
        }
      });
    return scene;
  };
}

// Each of two parties takes itself for the root of every broadcast; a third one only reads.
model::setup rivals(std::uint64_t count) {
  return [=] {
    struct shared {
      std::vector<box<>> boxes{3};
      broadcast_slots<content, 2, model_atomics> slots;
      model_atomics::atomic<int> taken{0};
    };
    auto all = std::make_shared<shared>();
    scenario scene;
    for (std::size_t party = 0; party < 3; ++party)
      scene.threads.push_back([=] {
        std::uint64_t met = 0;
        for (std::uint64_t n = 1; n <= count; ++n) {
          if (all->slots.meets_before(n)) meet(all->boxes, party, ++met);
          if (party != 2 && all->slots.try_take(n)) {
            all->taken.fetch_add(1, std::memory_order_relaxed);
            all->slots.publish(n, writing(value_of(party, n)));
          } else {
            const int got = await(all->slots, n);
            model::require(got == value_of(0, n) || got == value_of(1, n),
                           "whole, from one of the two");
          }
        }
      });
    scene.check = [=] {
      return all->taken.load(std::memory_order_relaxed) == static_cast<int>(count);
    };
    return scene;
  };
}

const std::vector<model::setup> dropboxes{
    meetings(2, 5),       meetings(3, 3), climbs({0, 0}, 4),
    climbs({0, 0, 1}, 3),  // A chain: the root sees the last one only through the other.
    climbs({0, 0, 0}, 3), passing(2, 4),  passing(3, 3),
};
const std::vector<model::setup> slots{broadcasts(2, 5, true), broadcasts(2, 5, false),
                                      broadcasts(3, 4, true), broadcasts(3, 4, false), rivals(2)};

TEST(dropbox_model, every_schedule_gives_each_party_the_values_of_its_meeting) {
  const std::string failures = model::failures(dropboxes, 2);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(dropbox_model, every_schedule_gives_each_party_the_value_of_its_broadcast) {
  const std::string failures = model::failures(slots, 2);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(dropbox_model, each_ordering_is_needed) {
  EXPECT_EQ(
      model::unneeded_places({meetings(2, 5), climbs({0, 0, 1}, 3), broadcasts(2, 5, false)}, 2),
      std::vector<std::string>{});
}

TEST(dropbox_model, one_slot_would_not_do) {
  EXPECT_TRUE(model::explore(meetings<1>(2, 3), 2).error);
}

TEST(dropbox_model, one_half_to_pass_parts_in_would_not_do) {
  EXPECT_TRUE(model::explore(passing<1>(2, 3), 2).error);
}

TEST(dropbox_model, broadcasts_without_meetings_would_not_do) {
  EXPECT_TRUE(model::explore(broadcasts(2, 4, false, false), 2).error);
}

}  // namespace
}  // namespace weft
