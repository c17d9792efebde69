// The result of a reduction has the type of its elements: other bytes would be taken for numbers.
// Expect: weft: .*input and output be of the same type
#include <functional>
#include <vector>
#include <weft/weft.hpp>

void rank(weft::communicator& world) {
  std::vector<double> values(4);
#ifdef MISUSE
  std::vector<float> sums(4);
#else
  std::vector<double> sums(4);
#endif
  world.allreduce(values, sums, std::plus<>{});
}
