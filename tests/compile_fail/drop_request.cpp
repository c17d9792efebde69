// A request that nobody holds could never be waited for.
// Expect: nodiscard|ignoring return value
#include <span>
#include <vector>
#include <weft/weft.hpp>

void rank(weft::communicator& world) {
  std::vector<int> values{1, 2, 3};
#ifdef MISUSE
  world.isend(values, 0);
#else
  world.isend(values, 0).wait();
#endif
}
