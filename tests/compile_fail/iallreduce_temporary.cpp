// A request refers to what it works on: it takes variables, of one type.
// Expect: weft: .*a temporary ends before the request
#include <functional>
#include <weft/weft.hpp>

void rank(weft::communicator& world) {
  double sum = 1;
#ifdef MISUSE
  world.iallreduce(1.0, sum, std::plus<>{}).wait();
#else
  const double value = 1;
  world.iallreduce(value, sum, std::plus<>{}).wait();
  world.iallreduce(sum, std::plus<>{}).wait();
#endif
}
