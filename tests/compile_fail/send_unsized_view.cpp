// A view whose size is not known.
// Expect: weft: .*copy it into a std::vector
#include <ranges>
#include <vector>
#include <weft/weft.hpp>

void rank(weft::communicator& world, std::vector<int>& values) {
  static_cast<void>(world);
  static_cast<void>(values);
#ifdef MISUSE
  world.send(values | std::views::filter([](int i) { return i > 1; }), 1);
#else
  world.send(values | std::views::transform([](int i) { return i + 1; }), 1);
#endif
}
