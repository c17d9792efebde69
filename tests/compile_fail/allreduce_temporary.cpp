// The result would be lost: an array can be copied as a span can, but what it holds goes with it.
// Expect: weft: .*written to a temporary is lost
#include <array>
#include <functional>
#include <weft/weft.hpp>

void rank(weft::communicator& world, [[maybe_unused]] std::array<double, 3>& sums) {
#ifdef MISUSE
  world.allreduce(std::array<double, 3>{1, 2, 3}, std::plus<>{});
#else
  world.allreduce(sums, std::plus<>{});
#endif
}
