// Ranks as rows and columns of a grid: a communicator for each row and one for each column.
// Run with: --weft-ranks 6
#include <cstdio>
#include <functional>
#include <weft/weft.hpp>

int main(int argc, char** argv) {
  return weft::run(argc, argv, [](weft::communicator& world) {
    constexpr int width = 3;
    const int x = world.rank() % width;
    const int y = world.rank() / width;
    const weft::communicator row = *world.split(y, x);
    const weft::communicator column = *world.split(x, y);

    const int in_row = row.allreduce(world.rank(), std::plus<>{});
    const int in_column = column.allreduce(world.rank(), std::plus<>{});
    // What a rank sends within its row is never taken for a message of its column.
    const int neighbour = row.size() > 1 ? (row.rank() + 1) % row.size() : 0;
    weft::request sending = row.isend(std::span(&in_column, 1), neighbour);
    const int received = row.recv<int>();
    sending.wait();

    const auto rows = world.gather(in_row, 0);
    const auto columns = world.gather(received, 0);
    if (world.rank() == 0)
      for (int r = 0; r < world.size(); ++r)
        std::printf("rank %d: its row sums up to %d, the column to its left to %d\n", r,
                    rows[static_cast<std::size_t>(r)], columns[static_cast<std::size_t>(r)]);
  });
}
