// An address, and one of nothing.
// Expect: weft: .*an address means nothing
#include <weft/weft.hpp>

void rank(weft::communicator& world) {
#ifdef MISUSE
  world.send(nullptr, 0);
#else
  world.send(0, 0);
#endif
}
