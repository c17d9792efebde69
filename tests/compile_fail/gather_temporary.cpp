// What is gathered must outlive the layout.
// Expect: weft: .*a layout refers to its parts
#include <vector>
#include <weft/weft.hpp>

void rank(weft::communicator& world, [[maybe_unused]] const double& time) {
  std::vector<int> values(10);
#ifdef MISUSE
  world.send(weft::gathered(1.5, values), 0);
#else
  world.send(weft::gathered(time, values), 0);
#endif
}
