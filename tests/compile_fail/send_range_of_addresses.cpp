// Elements that are addresses.
// Expect: weft: .*give weft::serialized\(x\)
#include <string_view>
#include <vector>
#include <weft/weft.hpp>

void rank(weft::communicator& world, std::vector<int>& values) {
  static_cast<void>(world);
  static_cast<void>(values);
#ifdef MISUSE
  world.send(std::vector<std::string_view>(3), 1);
#else
  world.send(std::string_view("abc"), 1);
#endif
}
