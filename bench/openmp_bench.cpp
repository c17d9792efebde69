// OpenMP's barrier, the rival of weft's between as many workers.
#include <omp.h>

#include <algorithm>

#include "report.hpp"

int main() {
  bench::raise_priority();
  bench::print_header();
  const int threads =
      std::min(bench::cores_allowed(), std::atoi(bench::setting("BENCH_WORKERS", "1024").c_str()));
  const auto samples = bench::sample([&](long n) {
    double took = 0;
#pragma omp parallel num_threads(threads)
    {
      bench::pin(omp_get_thread_num());
#pragma omp barrier
      const double start = bench::clock_ns();
      for (long i = 0; i < n; ++i) {
#pragma omp barrier
      }
#pragma omp master
      took = bench::clock_ns() - start;
    }
    return took;
  });
  bench::print_row("collectives/barrier", {"openmp", threads, threads}, "ns", samples);
}
