// The ranges of a non-blocking collective must outlive it: a temporary would be gone.
// Expect: weft: .*a temporary ends before the request
#include <vector>
#include <weft/weft.hpp>

void rank(weft::communicator& world) {
  std::vector<int> mine(3);
  std::vector<int> all;
#ifdef MISUSE
  world.iallgatherv(std::vector<int>(3), all).wait();
#else
  world.iallgatherv(mine, all).wait();
#endif
}
