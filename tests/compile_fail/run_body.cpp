// What ranks run takes their world.
// Expect: weft: .*a function of a weft::communicator&
#include <vector>
#include <weft/weft.hpp>

void rank(weft::communicator& world, std::vector<int>& values) {
  static_cast<void>(world);
  static_cast<void>(values);
#ifdef MISUSE
  weft::run({.ranks = 1}, [](int) {});
#else
  weft::run({.ranks = 1}, [](weft::communicator&) {});
#endif
}
