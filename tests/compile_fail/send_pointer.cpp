// A pointer is of no use to another rank; what it points to is meant.
// Expect: weft: .*an address means nothing
#include <weft/weft.hpp>

void rank(weft::communicator& world) {
  const int value = 1;
#ifdef MISUSE
  world.send(&value, 0);
#else
  world.send(value, 0);
#endif
}
