// Rank 0 takes every descriptor that its process may have; then all wait for the last rank, which sends nothing for longer
// than peers are silent unseen.
#include <fcntl.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <thread>
#include <weft/weft.hpp>

int main(int argc, char** argv) {
  return weft::run(argc, argv, [&](weft::communicator& world) {
    const int last = world.size() - 1;
    (void)world.allreduce(1, std::plus<>());  // All are connected.
    if (world.rank() == 0)
      while (::open("/dev/null", O_RDONLY) >= 0) {
      }
    if (world.rank() == last) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    const int sum = world.allreduce(1, std::plus<>());
    if (world.rank() == last) std::printf("%d ranks live\n", sum);
  });
}
