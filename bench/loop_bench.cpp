// What a loop task costs: 64 chunks that do nothing, with nobody who could steal them (one worker: a
// plain call), with others that compute meanwhile, and with thieves that wait (the other ranks). 64
// chunks of about 1 us show what stealing gains.
#include <atomic>

#include "adapter.hpp"

namespace {

constexpr std::size_t chunks = 64;

void spin_ns(double time) {
  for (const double end = bench::clock_ns() + time; bench::clock_ns() < end;) {
  }
}

// Rank 0 executes; the others wait for its message, which ends the measurement.
template <class Body>
void measure_loop(bench::peers& p, const std::string& name, Body&& body) {
  weft::loop_task task(chunks, body);
  bench::measure(p, "loop/" + name + (p.size() == 1 ? "/no_thief" : "/thief"), [&](long n) {
    if (p.rank() != 0) {
      (void)p.recv<int>(0);
      return;
    }
    for (long i = 0; i < n; ++i) task.execute();
    for (int other = 1; other < p.size(); ++other) p.send(0, other);
  });
}

// Rank 0 executes a loop that is open to all; the others compute and look at nothing of weft's.
void measure_beside_busy_ranks(bench::peers& p) {
  static std::atomic<long> ended = 0;
  long calls = 0;
  weft::loop_task task(chunks, [](std::size_t, std::size_t) {});
  bench::measure(p, "loop/empty64/busy", [&](long n) {
    ++calls;
    if (p.rank() != 0) {
      while (ended.load(std::memory_order_relaxed) < calls) {
      }
      return;
    }
    for (long i = 0; i < n; ++i) task.execute();
    ended.store(calls, std::memory_order_relaxed);
  });
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](bench::peers& p) {
    measure_loop(p, "empty64", [](std::size_t, std::size_t) {});
    if (p.size() > 1 && p.size() == p.workers()) measure_beside_busy_ranks(p);
    measure_loop(p, "chunks64_of_1us", [](std::size_t first, std::size_t last) {
      for (std::size_t chunk = first; chunk < last; ++chunk) spin_ns(1000);
    });
  });
}
