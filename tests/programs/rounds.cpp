// Barriers and small reductions, round after round: all ranks wait for each other nearly all the time.
// `rounds COUNT [deadlock]`: afterwards rank 1 waits for a message that nobody sends, the others in a barrier.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <weft/weft.hpp>

int main(int argc, char** argv) {
  return weft::run(argc, argv, [&](weft::communicator& world) {
    const long count = argc > 1 ? std::atol(argv[1]) : 100;
    const bool hangs = argc > 2 && std::string_view(argv[2]) == "deadlock";
    const long size = world.size();
    long wrong = 0;
    for (long round = 0; round < count; ++round) {
      world.barrier();
      const long sum = world.allreduce(round + world.rank(), std::plus<>());
      wrong += sum == size * round + size * (size - 1) / 2 ? 0 : 1;
      world.barrier();
    }
    if (hangs && world.rank() == 1) (void)world.recv<int>(0);
    if (hangs) world.barrier();
    if (world.rank() == 0) std::printf("%ld rounds, %ld wrong\n", count, wrong);
  });
}
