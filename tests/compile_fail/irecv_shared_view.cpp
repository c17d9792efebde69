// A range that shares what it shows may be its last owner: a temporary one is refused, though a const of it gives elements
// that are not.
// Expect: weft: .*written to a temporary is lost
#include <memory>
#include <weft/weft.hpp>

struct buffer {
  std::shared_ptr<double[]> elements;
  double* begin() const { return elements.get(); }
  double* end() const { return elements.get() + 10; }
};

void rank(weft::communicator& world) {
  const buffer kept{std::make_unique<double[]>(10)};
#ifdef MISUSE
  world.irecv(buffer{std::make_unique<double[]>(10)}, 0).wait();
#else
  world.irecv(kept, 0).wait();
#endif
}
