// What an action needs is passed to it: another process has not what a lambda holds.
// Expect: weft: an action is a function, .*pass what it needs as arguments
#include <weft/parcels.hpp>

void call(weft::locality there, int value) {
#ifdef MISUSE
  weft::post(there, [value] { return value + 1; });
#else
  weft::post(
      there, [](int given) { return given + 1; }, value);
#endif
}
