// A locality whose program has ended computes for another one, which waits and measures how long: "planted ACTION SECONDS".
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "weft/parcels.hpp"

namespace {

constexpr int rounds = 5;
constexpr double step = 0.02;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

int compute(int x) {
  for (const double end = now() + step; now() < end;) x ^= 1;
  return x;
}
WEFT_ACTION(compute);
int rest(int x) {
  usleep(static_cast<useconds_t>(step * 1e6));
  return x + 1;
}
WEFT_ACTION(rest);

int main(int argc, char** argv) {
  return weft::run_tasks(argc, argv, [] {
    if (weft::here() != weft::locality(0)) return;
    int x = 0;
    const auto plant = [&](const char* name, auto action) {
      const double start = now();
      for (int i = 0; i < rounds; ++i) x = weft::async(weft::locality(1), action, x).get();
      std::printf("planted %s %.6f\n", name, now() - start);
    };
    usleep(20000);  // The other one's program has ended by then.
    plant("compute", compute);
    plant("rest", rest);
  });
}
