// Ranks whose time weftrun --breakdown tells: late senders, a loop whose chunks others take, collectives.
#include <chrono>
#include <cstdio>

#include "weft/weft.hpp"

namespace {

void work(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  return weft::run(argc, argv, [](weft::communicator& world) {
    for (int i = 0; i < 10; ++i) {
      if (world.rank() == 0) {
        work(3ms);
        for (int to = 1; to < world.size(); ++to) world.send(i, to, 1);
      } else {
        (void)world.recv<int>(0, 1);
      }
    }
    if (world.rank() == 0) weft::parallel_for(0, 64, [](std::size_t) { work(500us); });
    world.barrier();
    if (world.rank() == 0) std::printf("done\n");
  });
}
