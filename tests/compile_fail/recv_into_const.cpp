// A message cannot be received into memory that must not change.
// Expect: weft: .*this memory is const
#include <span>
#include <vector>
#include <weft/weft.hpp>

void rank(weft::communicator& world) {
  std::vector<int> values{1, 2, 3};
#ifdef MISUSE
  world.recv(std::span<const int>(values));
#else
  world.recv(std::span<int>(values));
#endif
}
