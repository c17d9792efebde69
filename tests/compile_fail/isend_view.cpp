// Nobody would keep the copy of a view until the wait.
// Expect: weft: .*or call the blocking form
#include <ranges>
#include <vector>
#include <weft/weft.hpp>

void rank(weft::communicator& world, std::vector<int>& values) {
  static_cast<void>(world);
  static_cast<void>(values);
#ifdef MISUSE
  world.isend(std::views::iota(0, 5), 1).wait();
#else
  world.send(std::views::iota(0, 5), 1);
#endif
}
