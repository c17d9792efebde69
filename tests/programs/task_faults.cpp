// Ranks that wait for promises and tasks: what weftrun --breakdown should find is measured here, as in
// tests/breakdown/faults.c. task_faults MODE, with two ranks of one process.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <source_location>
#include <vector>

#include "weft/tasks.hpp"
#include "weft/weft.hpp"

namespace {

constexpr int iterations = 12;
constexpr double step = 0.005;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct times {
  double enter[iterations], leave[iterations], computed, ran;
};

void work(double seconds, double& computed) {
  const double start = now();
  double end = start;
  while (end < start + seconds) end = now();
  computed += end - start;
}

// Rank 0 keeps its promise late.
void promises(weft::communicator& world, times& mine) {
  static std::array<std::unique_ptr<weft::promise<int>>, iterations> kept;
  static std::array<weft::future<int>, iterations> wanted;
  if (world.rank() == 0)
    for (int i = 0; i < iterations; ++i) {
      kept[static_cast<std::size_t>(i)] =
          std::make_unique<weft::promise<int>>(std::source_location::current());
      wanted[static_cast<std::size_t>(i)] = kept[static_cast<std::size_t>(i)]->get_future();
    }
  world.barrier();
  const double began = now();
  for (int i = 0; i < iterations; ++i) {
    if (world.rank() == 0) {
      work(step, mine.computed);
      mine.enter[i] = now();
      kept[static_cast<std::size_t>(i)]->set_value(i);
      mine.leave[i] = now();
      (void)world.recv<int>(1, 1);
    } else {
      mine.enter[i] = now();
      (void)wanted[static_cast<std::size_t>(i)].get();
      mine.leave[i] = now();
      world.send(i, 0, 1);
    }
  }
  mine.ran = now() - began;
}

}  // namespace

int main(int argc, char** argv) {
  return weft::run(argc, argv, [](weft::communicator& world) {
    times mine{};
    promises(world, mine);
    const std::vector<times> all = world.allgather(mine);
    if (world.rank() != 0) return;
    double waited = 0;
    for (int i = 0; i < iterations; ++i)
      waited +=
          std::clamp(all[0].enter[i] - all[1].enter[i], 0.0, all[1].leave[i] - all[1].enter[i]);
    std::printf("expect wait %.9f\n", waited);
    for (std::size_t rank = 0; rank < all.size(); ++rank)
      std::printf("expect computing %zu %.9f\nexpect asleep %zu 0\nexpect caused %zu %.9f\n", rank,
                  all[rank].computed, rank, rank, rank == 0 ? waited : 0.0);
    std::printf("total %.9f\n", all[0].ran + all[1].ran);
  });
}
