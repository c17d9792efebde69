// What ranks cost that wait: all ranks but 0 wait a second for its message, 0 sleeps.
//
//   idle/waiting_rank   processor time of all processes per waiting rank and second
//   idle/job            of all together: of one core
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

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

// Each of them measures all of its process.
double ranks_of_this_process(bench::peers& p) {
  const double self = static_cast<double>(getpid());
  std::vector<double> mine(static_cast<std::size_t>(p.size())), all(mine.size());
  mine[static_cast<std::size_t>(p.rank())] = self;
  p.sum(mine, all);
  return static_cast<double>(std::count(all.begin(), all.end(), self));
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](bench::peers& p) {
    constexpr int repetitions = 10;
    const double here = ranks_of_this_process(p);
    std::vector<double> of_job, of_rank;
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
      of_job.push_back(p.sum(share / here));
      of_rank.push_back(of_job.back() / std::max(p.size() - 1, 1));
    }
    if (p.rank() != 0) return;
    bench::print_row("idle/waiting_rank", bench::setup_of(p), "%", of_rank);
    bench::print_row("idle/job", bench::setup_of(p), "%", of_job);
  });
}
