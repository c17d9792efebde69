// A text whose pattern does not fit its values is refused while compiling, not while reporting.
// Expect: (constant expression|consteval|invalid type specifier)
#include "base/format.hpp"

std::string text() {
#ifdef MISUSE
  return weft::formatted("{:d}", "rank");
#else
  return weft::formatted("{:d}", 3);
#endif
}
