// A view would refer to memory of nobody.
// Expect: weft: .*receive a std::vector or std::string
#include <string>
#include <string_view>
#include <vector>
#include <weft/weft.hpp>

void rank(weft::communicator& world, std::vector<int>& values) {
  static_cast<void>(world);
  static_cast<void>(values);
#ifdef MISUSE
  static_cast<void>(world.recv<std::string_view>(0));
#else
  static_cast<void>(world.recv<std::string>(0));
#endif
}
