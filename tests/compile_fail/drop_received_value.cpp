// A received value that nobody takes is a mistake.
// Expect: nodiscard|ignoring return value
#include <weft/weft.hpp>

void rank(weft::communicator& world) {
#ifdef MISUSE
  world.recv<int>(0);
#else
  (void)world.recv<int>(0);
#endif
}
