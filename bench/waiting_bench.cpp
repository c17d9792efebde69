// What a program pays for ranks that wait a while in each step: two ranks with a core each, of which one works longer.
//
//   waiting/stencil/TIME     a step in which both work 20 µs, one of them in turn TIME longer, and both exchange 8 B
//   waiting/ping_pong/TIME   half a round in which the one works for TIME and sends, while the other waits
//
// To work is to look at the clock until the time is over: figures differ by what it takes to wait, and to be woken.
#include <array>

#include "adapter.hpp"

namespace {

constexpr std::array<int, 7> waits_us = {5, 20, 50, 100, 500, 2000, 5000};
constexpr double both_work_us = 20;

void work(double us) {
  const double end = bench::clock_ns() + us * 1e3;
  while (bench::clock_ns() < end) {
  }
}

std::string time_name(int us) {
  return us < 1000 ? std::to_string(us) + "us" : std::to_string(us / 1000) + "ms";
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](bench::peers& p) {
    const int other = 1 - p.rank();
    for (const int us : waits_us) {
      bench::measure(p, "waiting/stencil/" + time_name(us), [&](long steps) {
        for (long i = 0; i < steps; ++i) {
          work(both_work_us + (p.rank() == i % 2 ? us : 0));
          p.send(i, other);
          (void)p.recv<long>(other);
        }
      });
      bench::measure(p, "waiting/ping_pong/" + time_name(us), [&](long halves) {
        for (long i = 0; i < halves; ++i) {
          if (p.rank() == i % 2) {
            work(us);
            p.send(i, other);
          } else {
            (void)p.recv<long>(other);
          }
        }
      });
    }
  });
}
