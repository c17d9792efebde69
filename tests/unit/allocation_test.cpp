// What is used again: after the first round, sends and receives under way take no memory.
#include <array>
#include <vector>

#include "counted_allocations.hpp"
#include "job.hpp"

namespace weft {
namespace {

// Allocations of the rounds after the first ones, on two ranks of one worker.
template <class Round>
long allocations_of(const Round& round) {
  long more = -1;
  run_ranks(2, 1, [&](communicator& world) {
    for (int first = 0; first < 4; ++first) {  // Each rank is ahead of the other in two rounds.
      if (world.rank() == first % 2) yield();
      round(world);
      world.barrier();
    }
    const long before = tests::allocations;
    for (int i = 0; i < 50; ++i) round(world);
    world.barrier();
    if (world.rank() == 0) more = tests::allocations - before;
  });
  return more;
}

TEST(memory, is_taken_once_for_started_messages_in_a_row) {
  const std::vector<int> out(4);
  EXPECT_EQ(allocations_of([&](communicator& world) {
              std::array<std::array<int, 4>, 4> in{};
              std::array<request, 8> under_way;
              for (std::size_t i = 0; i < 4; ++i) {
                const int tag = static_cast<int>(i);
                under_way[i] = world.irecv(in[i], 1 - world.rank(), tag);
              }
              for (std::size_t i = 0; i < 4; ++i) {
                const int tag = static_cast<int>(i);
                under_way[4 + i] = world.issend(out, 1 - world.rank(), tag);
              }
              wait_all(under_way);
            }),
            0);
}

TEST(memory, is_taken_once_for_started_messages_with_a_layout) {
  const std::vector<int> from(12);
  const const_layout out = strided(from, {.first = 1, .stride = 4, .count = 3});
  std::array<std::array<int, 12>, 2> in{};
  const std::array<layout, 2> into{strided(in[0], {.first = 2, .stride = 4, .count = 3}),
                                   strided(in[1], {.first = 2, .stride = 4, .count = 3})};
  EXPECT_EQ(allocations_of([&](communicator& world) {
              const auto me = static_cast<std::size_t>(world.rank());
              std::array<request, 2> under_way;
              under_way[0] = world.irecv(into[me], 1 - world.rank(), 3);
              under_way[1] = world.issend(out, 1 - world.rank(), 3);
              wait_all(under_way);
            }),
            0);
}

}  // namespace
}  // namespace weft
