// A string that is received and dropped: recv<std::string>(0) returns it, and makes none of a null pointer.
// Expect: nodiscard|ignoring return value
#include <string>
#include <weft/weft.hpp>

void rank(weft::communicator& world) {
#ifdef MISUSE
  world.recv<std::string>(0);
#else
  std::string text(10, ' ');
  world.recv(text, 0);
#endif
}
