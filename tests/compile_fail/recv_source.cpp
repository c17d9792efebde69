// A receive into one variable names its source: recv(source) would take the source for the variable.
// Expect: weft: .*received into by recv\(x, from\)
#include <weft/weft.hpp>

void rank(weft::communicator& world) {
  int source = 1;
#ifdef MISUSE
  world.recv(source);
#else
  int value = 0;
  world.recv(value, source);
#endif
}
