// What is received into a temporary is lost at once.
// Expect: weft: .*written to a temporary is lost
#include <weft/weft.hpp>

void rank(weft::communicator& world) {
  int value = 0;
#ifdef MISUSE
  world.sendrecv(value, 0, 1, 0);
#else
  world.sendrecv(1, 0, value, 0);
#endif
}
