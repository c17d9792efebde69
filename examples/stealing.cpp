// All the work is on rank 0. The others wait for a message, and take chunks of its loop meanwhile.
// With --weft-stats the table at the end says how many chunks were stolen.
// Run with: --weft-ranks 4
#include <cmath>
#include <cstdio>
#include <vector>
#include <weft/weft.hpp>

int main(int argc, char** argv) {
  bool right = false;
  const int status = weft::run(argc, argv, [&](weft::communicator& world) {
    if (world.rank() != 0) {
      static_cast<void>(world.recv<bool>(0));  // Waiting here, it helps.
      return;
    }
    std::vector<double> root(200'000);
    weft::parallel_for(0, root.size(), [&](std::size_t i) {
      double x = 1;  // Newton's method: the farther from 1, the more steps.
      const auto wanted = static_cast<double>(i);
      while (std::abs(x * x - wanted) > 1e-9 * (wanted + 1)) x = (x + wanted / x) / 2;
      root[i] = x;
    });
    bool all = true;
    for (std::size_t i = 0; i < root.size(); ++i)
      all = all && std::abs(root[i] - std::sqrt(static_cast<double>(i))) < 1e-3;
    std::printf("%zu square roots, %s\n", root.size(), all ? "all right" : "some wrong");
    right = all;
    for (int r = 1; r < world.size(); ++r) world.send(all, r);
  });
  return status == 0 && right ? 0 : 1;
}
