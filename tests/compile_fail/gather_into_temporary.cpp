// What is gathered would be lost.
// Expect: weft: .*written to a temporary is lost
#include <vector>
#include <weft/weft.hpp>

void rank(weft::communicator& world) {
  std::vector<int> all(10);
  const std::vector<int> mine(1);
#ifdef MISUSE
  world.gather(mine, std::vector<int>(10), 0);
#else
  world.gather(mine, all, 0);
#endif
}
