// Ranks that wait for promises and tasks: what weftrun --breakdown should find is measured here, as in
// tests/breakdown/faults.c. task_faults MODE, with two ranks: "promise" of one process, "action" of two; of "action",
// "coroutine" and "task" only who is late is told.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <source_location>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/parcels.hpp"
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

// Computed by locality 1, whose rank lets its worker run tasks meanwhile.
int answer_late(int value) {
  double computed = 0;
  work(step, computed);
  return value;
}
WEFT_ACTION(answer_late);

void actions(weft::communicator& world) {
  if (world.rank() == 0)
    for (int i = 0; i < iterations; ++i) (void)weft::async(weft::locality(1), answer_late, i).get();
  world.barrier();
}

weft::future<int> pass_on(weft::future<int> given) {
  co_return co_await given;
}

void coroutines(weft::communicator& world) {
  static std::unique_ptr<weft::promise<int>> kept;
  static weft::future<int> wanted;
  for (int i = 0; i < iterations; ++i) {
    if (world.rank() == 0) {
      kept = std::make_unique<weft::promise<int>>();
      wanted = kept->get_future();
    }
    world.barrier();
    double computed = 0;
    if (world.rank() == 0) {
      work(step, computed);
      kept->set_value(i);
    } else {
      (void)pass_on(std::move(wanted)).get();
    }
    world.barrier();
  }
}

// A task of rank 1, on a fiber of its own, waits for the promise that rank 0 keeps late; rank 1 waits for a message meanwhile.
void tasks(weft::communicator& world) {
  static std::unique_ptr<weft::promise<int>> kept;
  static weft::future<int> wanted;
  for (int i = 0; i < iterations; ++i) {
    if (world.rank() == 0) {
      kept = std::make_unique<weft::promise<int>>(std::source_location::current());
      wanted = kept->get_future();
    }
    world.barrier();
    if (world.rank() == 0) {
      double computed = 0;
      work(step, computed);
      kept->set_value(i);
      world.send(i, 1, 1);
    } else {
      weft::future<int> passed = weft::spawn([] { return wanted.get(); });
      (void)world.recv<int>(0, 1);
      (void)passed.get();
    }
    world.barrier();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "promise";
  return weft::run(argc, argv, [mode](weft::communicator& world) {
    if (mode == "action") return actions(world);
    if (mode == "coroutine") return coroutines(world);
    if (mode == "task") return tasks(world);
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
