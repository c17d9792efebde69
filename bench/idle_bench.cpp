// What a rank costs that waits: all ranks but 0 wait a second for its message, 0 sleeps. The figure
// is the processor time of the waiting ranks per rank and second; weft's ranks share one process,
// so there it is the whole process's, rank 0 included.
#include <sys/resource.h>

#include "adapter.hpp"

namespace {

double processor_ns() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto ns = [](const timeval& t) {
    return 1e9 * static_cast<double>(t.tv_sec) + 1e3 * static_cast<double>(t.tv_usec);
  };
  return ns(used.ru_utime) + ns(used.ru_stime);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](bench::peers& p) {
    constexpr int repetitions = 10;
    std::vector<double> shares;
    for (int i = 0; i < repetitions; ++i) {
      p.barrier();
      const double start = bench::clock_ns(), used = processor_ns();
      if (p.rank() == 0) {
        p.sleep_for(std::chrono::seconds(1));
        for (int other = 1; other < p.size(); ++other) p.send(0, other);
      } else {
        (void)p.recv<int>(0);
      }
      const double share = 100 * (processor_ns() - used) / (bench::clock_ns() - start);
      const bool counts = bench::over_weft ? p.rank() == 0 : p.rank() != 0;
      const double total = p.sum(counts ? share : 0.0);
      shares.push_back(total / std::max(bench::over_weft ? p.size() : p.size() - 1, 1));
    }
    if (p.rank() == 0)
      bench::print_row("idle/waiting_rank", {p.name(), p.size(), p.workers()}, "%", shares);
  });
}
