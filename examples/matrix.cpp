// A matrix that is spread over the ranks by rows is transposed: each rank sends a sub-array to every
// other, which receives it by columns. Nobody packs anything.
// Run with: --weft-ranks 4
#include <cstdio>
#include <vector>
#include <weft/weft.hpp>

int main(int argc, char** argv) {
  bool right = false;
  const int status = weft::run(argc, argv, [&](weft::communicator& world) {
    constexpr std::size_t rows = 60;  // Of each rank.
    const auto ranks = static_cast<std::size_t>(world.size());
    const auto me = static_cast<std::size_t>(world.rank());
    const std::size_t columns = rows * ranks;
    std::vector<int> mine(rows * columns);
    std::vector<int> transposed(rows * columns);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j)
        mine[i * columns + j] = static_cast<int>((me * rows + i) * columns + j);

    std::vector<weft::request> moves;
    for (std::size_t other = 0; other < ranks; ++other) {
      // Row i of the other's part is column other * rows + i here.
      std::vector<weft::block_of> by_columns;
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < rows; ++j)
          by_columns.push_back({j * columns + other * rows + i, 1});
      moves.push_back(world.irecv(weft::indexed(transposed, by_columns), static_cast<int>(other)));
    }
    for (std::size_t other = 0; other < ranks; ++other)
      moves.push_back(
          world.isend(weft::sub_array(mine, {rows, columns}, {0, other * rows}, {rows, rows}),
                      static_cast<int>(other)));
    weft::wait_all(moves);

    bool all = true;
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j)
        all = all && transposed[i * columns + j] == static_cast<int>(j * columns + me * rows + i);
    const int wrong = world.reduce(all ? 0 : 1, std::plus<>{}, 0);
    if (world.rank() != 0) return;
    right = wrong == 0;
    std::printf("transposed %zu x %zu: %s\n", columns, columns, right ? "right" : "wrong");
  });
  return status == 0 && right ? 0 : 1;
}
