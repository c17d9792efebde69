// A std::reference_wrapper is an address, which a message must not overwrite: receive into what it
// refers to.
// Expect: weft: .*an address means nothing
#include <functional>
#include <weft/weft.hpp>

void rank(weft::communicator& world) {
  int value = 0;
  std::reference_wrapper<int> there(value);
#ifdef MISUSE
  world.irecv(there, 1).wait();
#else
  world.irecv(there.get(), 1).wait();
#endif
}
