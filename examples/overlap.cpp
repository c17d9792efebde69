// A collective that goes on while its rank computes: pipelined sums of many blocks.
// Run with: --weft-ranks 4
#include <cstdio>
#include <functional>
#include <vector>
#include <weft/weft.hpp>

int main(int argc, char** argv) {
  bool right = true;
  const int status = weft::run(argc, argv, [&](weft::communicator& world) {
    constexpr int blocks = 8;
    constexpr std::size_t length = 5000;
    std::vector<std::vector<double>> parts(blocks), sums(blocks, std::vector<double>(length));
    std::vector<weft::request> under_way;
    for (int b = 0; b < blocks; ++b) {
      auto& part = parts[static_cast<std::size_t>(b)];
      for (std::size_t i = 0; i < length; ++i) part.push_back(b + world.rank());
      // Block b is summed while block b + 1 is computed.
      under_way.push_back(world.iallreduce(part, sums[static_cast<std::size_t>(b)], std::plus<>{}));
    }
    weft::wait_all(under_way);
    const int n = world.size();
    bool mine = true;
    for (int b = 0; b < blocks; ++b)
      mine = mine && sums[static_cast<std::size_t>(b)][length - 1] == b * n + n * (n - 1) / 2;
    const bool all = world.allreduce(mine, std::logical_and<>{});
    if (world.rank() == 0) std::printf("%d blocks, %s\n", blocks, all ? "all right" : "some wrong");
    if (world.rank() == 0) right = all;
  });
  return status == 0 && right ? 0 : 1;
}
