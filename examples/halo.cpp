// Heat flows along a rod that is cut into pieces, one for each rank. The ends of a piece are exchanged
// while its inner part is computed.
// Run with: --weft-ranks 5
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>
#include <weft/weft.hpp>

int main(int argc, char** argv) {
  bool conserved = false;
  const int status = weft::run(argc, argv, [&](weft::communicator& world) {
    constexpr std::size_t cells = 1000;
    const int left = (world.rank() + world.size() - 1) % world.size();
    const int right = (world.rank() + 1) % world.size();
    std::vector<double> now(cells, world.rank() == 0 ? 1.0 : 0.0);
    std::vector<double> next(cells);
    const auto flow = [](double a, double b, double c) { return b + 0.25 * (a - 2 * b + c); };

    for (int step = 0; step < 100; ++step) {
      std::array<double, 1> from_left{}, from_right{};
      std::array<weft::request, 4> moves{world.irecv(from_left, left, 0),
                                         world.irecv(from_right, right, 1),
                                         world.isend(std::span(now).last(1), right, 0),
                                         world.isend(std::span(now).first(1), left, 1)};
      for (std::size_t i = 1; i + 1 < cells; ++i) next[i] = flow(now[i - 1], now[i], now[i + 1]);
      weft::wait_all(moves);
      next[0] = flow(from_left[0], now[0], now[1]);
      next[cells - 1] = flow(now[cells - 2], now[cells - 1], from_right[0]);
      now.swap(next);
    }

    double heat = 0;
    for (const double t : now) heat += t;
    const double total = world.reduce(heat, std::plus<>{}, 0);
    if (world.rank() != 0) return;
    conserved = std::abs(total - cells) < 1e-9 * cells;
    std::printf("heat after 100 steps: %.9f\n", total);
  });
  return status == 0 && conserved ? 0 : 1;
}
