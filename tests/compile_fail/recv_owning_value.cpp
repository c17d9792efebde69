// A received value must be trivially copyable.
// Expect: weft: .*recv<weft::serialized<T>>
#include <string>
#include <vector>
#include <weft/weft.hpp>

void rank(weft::communicator& world) {
#ifdef MISUSE
  (void)world.recv<std::vector<std::string>>();
#else
  (void)world.recv<int>();
#endif
}
