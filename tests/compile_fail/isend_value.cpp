// A temporary value would be gone before the message has left; a variable stays.
// Expect: weft: .*a temporary ends before the request
#include <weft/weft.hpp>

void rank(weft::communicator& world) {
  int value = 5;
#ifdef MISUSE
  world.isend(value + 1, 0).wait();
#else
  world.isend(value, 0).wait();
#endif
}
