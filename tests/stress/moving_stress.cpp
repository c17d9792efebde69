// Ranks whose workers go to another thread at each wait that finds nothing, or where threads are idle. Each round all do one thing,
// which the seed chooses. With a sanitizer a round is slow; the time decides how many there are.
#include <atomic>
#include <functional>
#include <random>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "base/topology.hpp"
#include "job.hpp"
#include "stress/stress.hpp"

namespace weft {
namespace {

void compute(std::uint64_t ns) {
  for (const std::uint64_t end = now_ns() + ns; now_ns() < end;) {
  }
}

void send_in_a_ring(communicator& world, int round, std::size_t count) {
  const int next = (world.rank() + 1) % world.size();
  const int previous = (world.rank() + world.size() - 1) % world.size();
  const std::vector<int> sent(count, world.rank() + round);
  std::vector<int> got(count);
  request r = world.irecv(std::span(got), previous);
  world.send(std::span<const int>(sent), next);
  r.wait();
  EXPECT_EQ(got, std::vector<int>(count, previous + round));
}

void share_out_a_loop(const communicator& world, int owner) {
  if (world.rank() != owner) return;
  std::atomic<std::int64_t> sum{0};
  parallel_for(0, 64, [&](std::size_t i) {
    compute(1000);
    sum += static_cast<std::int64_t>(i);
  });
  EXPECT_EQ(sum, 64 * 63 / 2);
}

void move_under_load(const char* way) {
  const stress::run run;
  options how = alone(job_of(3 * static_cast<int>(machine_topology().threads.size()) + 1, 0));
  how.moving = way;
  run_ranks(how, [&](communicator& world) {
    auto random = run.random(0);  // The same in each rank.
    auto own = run.random(static_cast<std::size_t>(world.rank()) + 1);
    for (int round = 0;; ++round) {
      const int root = static_cast<int>(random() % static_cast<unsigned>(world.size()));
      if (own() % 4 == 0) compute(own() % 50'000);
      if (own() % 16 == 0) sleep_for(std::chrono::microseconds(own() % 300));
      switch (random() % 5) {
        case 0:
          send_in_a_ring(world, round, 1);
          break;
        case 1:
          send_in_a_ring(world, round, 20'000);
          break;
        case 2:
          EXPECT_EQ(world.bcast(world.rank() == root ? round : -1, root), round);
          break;
        case 3:
          share_out_a_loop(world, root);
          world.barrier();
          break;
        default:
          EXPECT_EQ(world.allreduce(world.rank(), std::plus<>{}),
                    world.size() * (world.size() - 1) / 2);
      }
      if (round % 8 == 7 && world.bcast(run.time_left() ? 0 : 1, 0) != 0) break;
    }
  });
}

TEST(moving_stress, ranks_keep_what_is_theirs_when_they_move_at_every_wait) {
  move_under_load("always");
}

TEST(moving_stress, ranks_keep_what_is_theirs_when_idle_threads_take_them) {
  move_under_load("on");
}

}  // namespace
}  // namespace weft
