/* The loops of weft/loop.hpp in an MPI program: a rank that waits in MPI takes chunks; a reduction over a
   loop and one over ranks.

   Run with: -n 2 --workers 2 --timeout 60 */
#include <atomic>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>
#include <weft/loop.hpp>

#include "../conform.h"

static std::vector<double> x(1000);
static std::atomic<bool> is_helped{false};

int main(int argc, char** argv) {
  begin(&argc, &argv);
  std::iota(x.begin(), x.end(), rank * 1000.0);
  if (rank == 0) {
    const std::thread::id owner = std::this_thread::get_id();
    const auto twice = [&](std::size_t i) {
      if (std::this_thread::get_id() != owner) is_helped = true;
      for (volatile int turn = 0; turn < 2000; turn = turn + 1) {
      }
      x[i] *= 2;
    };
    while (!is_helped) {
      std::iota(x.begin(), x.end(), 0.0);
      weft::parallel_for(0, x.size(), twice);
    }
    EXPECT(x[999] == 2 * 999, "%g", x[999]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double mine = weft::parallel_reduce(
      0, x.size(), 0.0,
      [](weft::range_1d part) {
        return std::accumulate(x.begin() + (long)part.begin, x.begin() + (long)part.end, 0.0);
      },
      std::plus<>{});
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  EXPECT(all == 2 * 499500.0 + 1499500.0, "%g", all);
  return end();
}
