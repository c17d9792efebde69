// Elements that own memory cannot be copied as bytes.
// Expect: weft: .*give weft::serialized\(x\)
#include <string>
#include <vector>
#include <weft/weft.hpp>

void rank(weft::communicator& world) {
#ifdef MISUSE
  world.send(std::vector<std::string>{"a"}, 0);
#else
  world.send(std::string("a"), 0);
#endif
}
