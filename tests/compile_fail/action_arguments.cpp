// An action is called with what it takes.
// Expect: weft: these arguments are not those of the action
#include <string>
#include <weft/parcels.hpp>

int size_of(const std::string& text) {
  return static_cast<int>(text.size());
}
WEFT_ACTION(size_of);

void call(weft::locality there) {
#ifdef MISUSE
  weft::post(there, size_of, "text", 4);
#else
  weft::post(there, size_of, "text");
#endif
}
