// What is received into a temporary is lost at once; recv<std::string>(0) would make one of a null pointer.
// Expect: no matching function
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
