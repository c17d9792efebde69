// A temporary vector would be gone before the message has left.
// Expect: weft: .*a temporary ends before the request
#include <vector>
#include <weft/weft.hpp>

void rank(weft::communicator& world) {
  std::vector<int> values{1, 2, 3};
#ifdef MISUSE
  world.isend(std::vector<int>{1, 2, 3}, 0).wait();
#else
  world.isend(values, 0).wait();
#endif
}
