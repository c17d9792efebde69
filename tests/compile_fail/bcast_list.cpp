// Nor is a list: its elements do not lie in a row.
// Expect: weft: .*do not lie in a row
#include <list>
#include <vector>
#include <weft/weft.hpp>

void rank(weft::communicator& world, std::vector<int>& values) {
  static_cast<void>(world);
  static_cast<void>(values);
#ifdef MISUSE
  std::list<int> all(3);
  world.bcast(all, 0);
#else
  world.bcast(values, 0);
#endif
}
