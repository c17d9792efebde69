// Collectives, time per call with all ranks calling in a loop. The root of the broadcast moves on
// by one with every call, so that no root runs ahead of the others.
#include <string>

#include "adapter.hpp"

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](bench::peers& p) {
    bench::measure(p, "collectives/barrier", [&](long n) {
      for (long i = 0; i < n; ++i) p.barrier();
    });
    bench::measure(p, "collectives/allreduce/8B", [&](long n) {
      double value = 1;
      for (long i = 0; i < n; ++i) value = p.sum(value) / p.size();
    });
    for (const std::size_t bytes : {64u << 10, 1u << 20}) {
      const std::string name = "collectives/allreduce/" + bench::size_name(bytes);
      std::vector<double> in(bytes / sizeof(double), 1.0), out(in.size());
      bench::measure(p, name, [&](long n) {
        for (long i = 0; i < n; ++i) p.sum(std::span<const double>(in), std::span(out));
      });
      // Of what every rank has just changed, as it does from one step of a program to the next.
      bench::measure(p, name + "/fresh", [&](long n) {
        for (long i = 0; i < n; ++i) {
          bench::rewrite(std::span(in));
          p.sum(std::span<const double>(in), std::span(out));
        }
      });
    }
    bench::measure(p, "collectives/bcast/8B", [&](long n) {
      double value = 1;
      for (long i = 0; i < n; ++i) value = p.bcast(value, static_cast<int>(i % p.size()));
    });
    const std::vector<double> out(static_cast<std::size_t>(p.size()), 1.0);
    std::vector<double> in(out.size());
    bench::measure(p, "collectives/alltoall/8B", [&](long n) {
      for (long i = 0; i < n; ++i) p.alltoall(std::span(out), std::span(in));
    });
#if defined BENCH_OVER_MPI
    // Of data just written, as programs do whose elements find their owners anew in each step.
    {
      const std::size_t bytes = 4096;
      std::vector<double> from(bytes / sizeof(double), 1.0), to(from.size());
      const std::vector<int> gives(static_cast<std::size_t>(p.size()),
                                   static_cast<int>(from.size()) / p.size());
      bench::measure(p, "collectives/counts_then_data/4KiB", [&](long n) {
        for (long i = 0; i < n; ++i) {
          bench::rewrite(std::span(from));
          p.counts_then_data(from, gives, to);
        }
      });
    }
#endif
    // Large data: of each rank, shared out to all, and of a root that moves on.
    for (const std::size_t bytes : {64u << 10, 1u << 20}) {
      const std::string size = bench::size_name(bytes);
      const auto each = bytes / sizeof(double) / static_cast<std::size_t>(p.size());
      const std::vector<double> from(each * static_cast<std::size_t>(p.size()), 1.0);
      std::vector<double> to(from.size());
      bench::measure(p, "collectives/alltoall/" + size, [&](long n) {
        for (long i = 0; i < n; ++i) p.alltoall(std::span(from), std::span(to));
      });
      bench::measure(p, "collectives/bcast/" + size, [&](long n) {
        for (long i = 0; i < n; ++i) p.bcast(std::span(to), static_cast<int>(i % p.size()));
      });
    }
  });
}
