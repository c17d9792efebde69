// What a collective writes to a temporary container is lost at once, as of a receive. A view is accepted.
// Expect: weft: .*written to a temporary is lost
#include <cstddef>
#include <span>
#include <vector>
#include <weft/weft.hpp>

// One of a program's own, which says nothing of itself to the library of ranges.
struct row {
  double* first;
  std::size_t count;
  double* begin() const { return first; }
  double* end() const { return first + count; }
};

void rank(weft::communicator& world, std::vector<double>& grid) {
  const auto row_of = [&](std::size_t i) { return row{grid.data() + 10 * i, 10}; };
  world.bcast(row_of(0), 0);
  world.recv(row_of(1), 0);
  world.irecv(row_of(2), 0).wait();
  world.isend(row_of(3), 0).wait();
  world.sendrecv(row_of(4), 0, row_of(5), 0);
  world.allgather(row_of(0), std::span(grid));
#ifdef MISUSE
  world.bcast(std::vector<double>(10), 0);
#else
  world.bcast(grid, 0);
#endif
}
