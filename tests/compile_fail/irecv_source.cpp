// A receive into one variable names its source: irecv(source) would take the source for the variable.
// Expect: weft: .*received into by irecv\(x, from\)
#include <weft/weft.hpp>

void rank(weft::communicator& world) {
  int source = 1;
#ifdef MISUSE
  world.irecv(source).wait();
#else
  int value = 0;
  world.irecv(value, source).wait();
  std::array<int, 1> values{};
  world.irecv(values).wait();
#endif
}
