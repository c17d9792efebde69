// Ranks that wait for what does not come, until the job is ended: rank 0 for a time, the others for a
// message of it. Each process says who it is once all its ranks wait.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <weft/weft.hpp>

int main(int argc, char** argv) {
  return weft::run(argc, argv, [](weft::communicator& world) {
    world.barrier();
    std::printf("rank %d waits in %d\n", world.rank(), static_cast<int>(::getpid()));
    std::fflush(stdout);
    if (world.rank() == 0)
      weft::sleep_for(std::chrono::hours(1));
    else
      (void)world.recv<int>(0);
  });
}
