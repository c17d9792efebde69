// Values are copies; what refers to something stays in its future.
// Expect: weft: collect gives values
#include <utility>
#include <vector>
#include <weft/tasks.hpp>

int first(std::vector<weft::future<int&>> all) {
#ifdef MISUSE
  weft::collect(std::move(all));
  return 1;
#else
  return weft::when_all(std::move(all)).get().front().get();
#endif
}
