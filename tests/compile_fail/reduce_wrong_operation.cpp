// An operation must take and give the type it reduces.
// Expect: weft: .*the operation is called as T\(T, T\)
#include <string>
#include <vector>
#include <weft/weft.hpp>

void rank(weft::communicator& world) {
#ifdef MISUSE
  (void)world.allreduce(1.0, [](const std::string& a, const std::string&) { return a; });
#else
  (void)world.allreduce(1.0, [](double a, double b) { return a + b; });
#endif
}
