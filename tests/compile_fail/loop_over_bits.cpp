// Chunks that run at the same time would write to one byte.
// Expect: weft: .*give a std::vector<char>
#include <vector>
#include <weft/weft.hpp>

void rank(weft::communicator& world, std::vector<int>& values) {
  static_cast<void>(world);
  static_cast<void>(values);
#ifdef MISUSE
  std::vector<bool> flags(8);
  weft::parallel_for(flags, [](auto&&) {});
#else
  std::vector<char> flags(8);
  weft::parallel_for(flags, [](char& flag) { flag = 1; });
#endif
}
