// Rows measured between two plain threads on two cores, and on one thread.
#pragma once
#include <atomic>
#include <cstdint>
#include <limits>
#include <thread>

#include "report.hpp"

namespace bench {

inline void pause() {
  asm volatile("pause" ::: "memory");
}

// Alone on its pair of lines: the adjacent-line prefetcher fetches two.
struct alignas(128) word {
  std::atomic<std::uint64_t> value{0};
};

// Runs first(n) on core 0 and second(n) on core 1 and times the first.
template <class First, class Second>
double two_threads(long n, First&& first, Second&& second) {
  word ready;
  std::thread other([&] {
    pin(1);
    ready.value.store(1);
    ready.value.notify_one();
    while (ready.value.load() != 2) pause();
    second(n);
  });
  pin(0);
  ready.value.wait(0);  // Not by spinning: the new thread starts on this core, at this priority.
  const double start = clock_ns();
  ready.value.store(2);
  first(n);
  const double took = clock_ns() - start;
  other.join();
  return took;
}

// The time of n messages while one or two threads do work(thread, messages, go_on), which ends early when
// go_on() is false. Of two, whose shares need not be fair, what counts is what both have had by the time
// when the first has had n. `second_had`: of the second's; `settle()` ends what it left behind.
template <class Work, class Settle>
double one_or_two(int threads, long n, const word& second_had, Work&& work, Settle&& settle) {
  const auto always = [] { return true; };
  if (threads == 1) {
    pin(0);
    const double start = clock_ns();
    work(0, n, always);
    return clock_ns() - start;
  }
  std::atomic<bool> ended = false;
  const std::uint64_t before = second_had.value.load();
  std::uint64_t other = 0;
  const double took = two_threads(
      n,
      [&](long k) {
        work(0, k, always);
        other = second_had.value.load() - before;
        ended = true;
      },
      [&](long) {
        work(1, std::numeric_limits<long>::max(),
             [&] { return !ended.load(std::memory_order_relaxed); });
      });
  settle();
  return took * static_cast<double>(n) / static_cast<double>(static_cast<std::uint64_t>(n) + other);
}

template <class First, class Second>
void row(const std::string& name, First&& first, Second&& second, double divisor) {
  if (!wanted(name)) return;
  auto samples = sample([&](long n) { return two_threads(n, first, second); });
  for (double& s : samples) s /= divisor;
  print_row(name, {"hardware", 2, 2}, "ns", samples);
}

template <class Op>
void row(const std::string& name, Op&& op) {
  if (!wanted(name)) return;
  pin(0);
  print_row(name, {"hardware", 1, 1}, "ns", sample([&](long n) {
              const double start = clock_ns();
              for (long i = 0; i < n; ++i) op();
              return clock_ns() - start;
            }));
}

}  // namespace bench
