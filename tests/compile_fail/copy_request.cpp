// A request is one operation under way; it moves, it is not copied.
// Expect: deleted function|no matching
#include <utility>
#include <weft/weft.hpp>

void rank([[maybe_unused]] weft::communicator& world) {
  weft::request first;
#ifdef MISUSE
  weft::request second = first;
#else
  weft::request second = std::move(first);
#endif
}
