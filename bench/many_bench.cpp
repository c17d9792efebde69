// Very many ranks: start, barrier, one token round a ring, one gather by wildcard receives, end;
// wall time of the whole and the most memory that the process held. Apart from these, an all-gather of 4 bytes.
#include <sys/resource.h>

#include "adapter.hpp"

int main(int argc, char** argv) {
  bench::raise_priority();
  weft::options options = weft::parse_options(argc, argv);
  if (options.ranks == 0) options.ranks = 10'000;
  if (options.workers == 0) options.workers = bench::cores_allowed();
  bench::print_header();
  const bench::setup who{"weft", options.ranks, options.workers};
  std::vector<double> seconds, memory;
  for (int i = 0; i < bench::repetitions_wanted; ++i) {
    const double start = bench::clock_ns();
    weft::run(options, [&](weft::communicator& world) {
      const int n = world.size(), me = world.rank();
      world.barrier();
      if (me == 0) world.send(std::uint64_t{1}, 1 % n);
      const auto token = world.recv<std::uint64_t>((me + n - 1) % n);
      if (me != 0) world.send(token, (me + 1) % n);
      if (me != 0)
        world.send(std::uint64_t{1}, 0);
      else
        for (int m = 1; m < n; ++m) (void)world.recv<std::uint64_t>(weft::any_source);
    });
    seconds.push_back((bench::clock_ns() - start) * 1e-9);
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    memory.push_back(static_cast<double>(used.ru_maxrss) / 1024);
  }
  std::vector<double> gathers;
  weft::run(options, [&](weft::communicator& world) {
    std::vector<int> all(static_cast<std::size_t>(world.size()));
    for (int i = 0; i < bench::repetitions_wanted; ++i) {
      world.barrier();
      const double start = bench::clock_ns();
      world.allgather(world.rank(), all);
      world.barrier();
      if (world.rank() == 0) gathers.push_back((bench::clock_ns() - start) * 1e-9);
    }
  });
  bench::print_row("many/allgather/4B", who, "s", gathers);
  bench::print_row("many/start_to_end", who, "s", seconds);
  bench::print_row("many/memory", who, "MiB", memory);
}
