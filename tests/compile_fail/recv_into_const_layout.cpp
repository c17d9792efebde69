// The layout of constant data can be sent, not received into.
// Expect: weft: .*this memory is const
#include <vector>
#include <weft/weft.hpp>

void rank(weft::communicator& world) {
  const std::vector<int> fixed(10);
  std::vector<int> values(10);
  world.send(weft::strided(fixed, {.stride = 2, .count = 5}), 0);
#ifdef MISUSE
  world.recv(weft::strided(fixed, {.stride = 2, .count = 5}), 0);
#else
  world.recv(weft::strided(values, {.stride = 2, .count = 5}), 0);
#endif
}
