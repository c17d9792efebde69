// A layout refers to its data: a temporary vector would be gone before the message is sent.
// Expect: weft: .*a temporary ends before the request
#include <vector>
#include <weft/weft.hpp>

void rank(weft::communicator& world) {
  std::vector<int> values(10);
#ifdef MISUSE
  world.send(weft::strided(std::vector<int>(10), {.stride = 2, .count = 5}), 0);
#else
  world.send(weft::strided(values, {.stride = 2, .count = 5}), 0);
#endif
}
