// The body of a loop takes an index or a range of them.
// Expect: weft: .*called with an index
#include <cstddef>
#include <weft/weft.hpp>

void rank() {
#ifdef MISUSE
  weft::parallel_for(0, 10, [](weft::range_1d, int) {});
#else
  weft::parallel_for(0, 10, [](weft::range_1d) {});
  weft::parallel_for(0, 10, [](std::size_t) {});
#endif
}
