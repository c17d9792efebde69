// What chunks wrote to a temporary argument of a task would be lost.
// Expect: cannot bind|binding reference|discards qualifiers|no match for call
#include <cstddef>
#include <weft/weft.hpp>

void rank() {
  weft::loop_task scale(8, [](std::size_t, std::size_t, const double&) {});
  scale.execute(0.5);
  double sum = 0;
  weft::loop_task add(8, [](std::size_t, std::size_t, double& to) { to += 1; });
#ifdef MISUSE
  add.execute(0.0);
#else
  add.execute(sum);
#endif
}
