// A collective call takes what a send takes.
// Expect: weft: .*give weft::serialized\(x\)
#include <map>
#include <vector>
#include <weft/weft.hpp>

void rank(weft::communicator& world, std::vector<int>& values) {
  static_cast<void>(world);
  static_cast<void>(values);
#ifdef MISUSE
  static_cast<void>(world.allgather(std::map<int, int>()));
#else
  static_cast<void>(world.allgather(values));
#endif
}
