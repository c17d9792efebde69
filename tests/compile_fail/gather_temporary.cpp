// What is gathered must outlive the layout.
// Expect: no matching function
#include <vector>
#include <weft/weft.hpp>

void rank(weft::communicator& world) {
  std::vector<int> values(10);
  const double time = 1.5;
#ifdef MISUSE
  world.send(weft::gathered(1.5, values), 0);
#else
  world.send(weft::gathered(time, values), 0);
#endif
}
