// A value has no memory that outlives the call; a range names memory.
// Expect: no matching function
#include <span>
#include <vector>
#include <weft/weft.hpp>

void rank(weft::communicator& world) {
  std::vector<int> values{1, 2, 3};
#ifdef MISUSE
  world.isend(5, 0).wait();
#else
  world.isend(std::span(values), 0).wait();
#endif
}
