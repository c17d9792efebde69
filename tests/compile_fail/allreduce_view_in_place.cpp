// A view of results is nothing to write to.
// Expect: weft: .*do not lie in a row
#include <functional>
#include <ranges>
#include <vector>
#include <weft/weft.hpp>

void rank(weft::communicator& world, std::vector<int>& values) {
  static_cast<void>(world);
  static_cast<void>(values);
#ifdef MISUSE
  world.allreduce(values | std::views::reverse, std::plus<>());
#else
  world.allreduce(values, std::plus<>());
#endif
}
