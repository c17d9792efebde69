// The same messages again and again: set up once, started each time.
// Run with: --weft-ranks 3
#include <array>
#include <cstdio>
#include <vector>
#include <weft/weft.hpp>

int main(int argc, char** argv) {
  return weft::run(argc, argv, [](weft::communicator& world) {
    std::vector<int> out(10), in(10);
    std::array<weft::request, 2> moves{
        world.recv_init(in, (world.rank() + world.size() - 1) % world.size(), 0),
        world.send_init(out, (world.rank() + 1) % world.size(), 0)};
    int sum = 0;
    for (int round = 0; round < 100; ++round) {
      out.assign(out.size(), round);
      for (weft::request& move : moves) move.start();
      weft::wait_all(moves);
      sum += in.back();
    }
    if (world.rank() == 0) std::printf("100 rounds, sum %d\n", sum);
    if (sum != 4950) throw weft::error("a round got the data of another");
  });
}
