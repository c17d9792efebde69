// Nor can it be sent: it is an address of this rank.
// Expect: weft: .*an address means nothing
#include <functional>
#include <weft/weft.hpp>

void rank(weft::communicator& world) {
  int value = 0;
  const std::reference_wrapper<int> there(value);
#ifdef MISUSE
  world.send(there, 1);
#else
  world.send(there.get(), 1);
#endif
}
