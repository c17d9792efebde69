// Prints what the process has in memory when every rank is in its program.
#include <cstdio>
#include <fstream>
#include <string>
#include <weft/weft.hpp>

int preset[1024] = {1};
// Read-only: code of this size would be 1 MiB in each copy.
extern const char filler[1 << 20];
const char filler[1 << 20] = {1, 2, 3};

int main() {
  const weft::communicator world = weft::this_world();
  world.barrier();
  if (world.rank() == 0) {
    std::ifstream all("/proc/self/smaps_rollup");
    std::string word;
    long kib = 0, own = 0;
    while (all >> word)
      if ((word == "Pss_Anon:" || word == "Pss_Shmem:") && all >> kib) own += kib;
    std::printf("ranks %d own_kib %ld filler %d\n", world.size(), own, filler[world.rank()]);
  }
  world.barrier();
}
