// Chunks begin at an index.
// Expect: weft: .*give a range with random access
#include <list>
#include <vector>
#include <weft/weft.hpp>

void rank(weft::communicator& world, std::vector<int>& values) {
  static_cast<void>(world);
  static_cast<void>(values);
#ifdef MISUSE
  weft::parallel_for(std::list<int>(3), [](int) {});
#else
  weft::parallel_for(values, [](int& i) { ++i; });
#endif
}
