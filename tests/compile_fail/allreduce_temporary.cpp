// The result would be lost: an array can be copied as a span can, but what it holds goes with it.
// Expect: no matching function
#include <array>
#include <functional>
#include <weft/weft.hpp>

void rank(weft::communicator& world) {
  std::array<double, 3> sums{1, 2, 3};
#ifdef MISUSE
  world.allreduce(std::array<double, 3>{1, 2, 3}, std::plus<>{});
#else
  world.allreduce(sums, std::plus<>{});
#endif
}
