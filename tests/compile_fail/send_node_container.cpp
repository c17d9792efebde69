// A container whose elements are not contiguous cannot be a message.
// Expect: bytes_of
#include <list>
#include <vector>
#include <weft/weft.hpp>

void rank(weft::communicator& world) {
#ifdef MISUSE
  world.send(std::list<int>{1, 2}, 0);
#else
  world.send(std::vector<int>{1, 2}, 0);
#endif
}
