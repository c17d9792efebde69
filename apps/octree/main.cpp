// weft-octree: a binary star on an adaptive octree. `weft-octree --help` explains it.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <random>
#include <weft/tasks.hpp>
#include <weft/weft.hpp>

#include "front/interrupt.hpp"
#include "front/workers.hpp"
#include "octree/job.hpp"
#include "octree/parcel_exchange.hpp"
#include "octree/rank_exchange.hpp"

int main(int argc, char** argv) {
  weft::options runtime;
  std::optional<octree::program_options> options;
  try {
    runtime = weft::parse_options(argc, argv);
    options = octree::parse_program_options(argc, argv);
    if (!options) return 0;
    options->workers = front::workers_of(runtime);
  } catch (const weft::error& e) {
    std::fprintf(stderr, "weft-octree: %s\n", e.what());
    return 2;
  }
  front::end_early_when_interrupted();
  std::random_device random;
  const std::uint64_t process = static_cast<std::uint64_t>(random()) << 32 | random();
  std::atomic<int> signal{0};
  std::atomic<bool> right{true};
  const auto run_on = [&](octree::exchange& between) {
    const octree::outcome result = octree::run_star(between, *options, process);
    if (result.signal != 0) signal = result.signal;
    if (!result.right) right = false;
  };
  const int status =
      options->exchange == "ranks"
          ? weft::run(
                runtime,
                [&](weft::communicator& ranks) { run_on(*octree::make_rank_exchange(ranks)); })
          // One rank in each process, and workers that take tasks.
          : weft::run_tasks(runtime,
                            [&] { run_on(*octree::make_parcel_exchange(weft::this_world())); });
  if (status != 0) return status;
  return signal != 0 ? 128 + signal : right ? 0 : 1;
}
