// weft as a part of a program: two jobs, with options of the program's own, and a value for each rank.
#include <cstdio>
#include <functional>
#include <weft/weft.hpp>

int main() {
  long total = 0;
  for (const int ranks : {3, 12}) {
    weft::options how;
    how.ranks = ranks;
    how.workers = 2;
    // A plain global or static would be shared by all ranks.
    weft::rank_local<long> visits(static_cast<std::size_t>(ranks));
    const int status = weft::run(how, [&](weft::communicator& world) {
      for (int i = 0; i <= world.rank(); ++i) {
        visits.get() += 1;
        weft::yield();  // Other ranks of this worker run here.
      }
      const long sum = world.allreduce(visits.get(), std::plus<>{});
      if (world.rank() == 0) total += sum;
    });
    if (status != 0) return status;
  }
  std::printf("%ld visits\n", total);
  return total == 3 * 4 / 2 + 12 * 13 / 2 ? 0 : 1;
}
