// Two ranks that, after a pause, say something known to each other again and again, for so many seconds and at least ten
// times: `victim SECONDS`. They tell when something else has come.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <thread>
#include <vector>
#include <weft/weft.hpp>

namespace {

// Long enough for the relay to know it by its length, and readable.
std::vector<char> text_of(int round) {
  std::string all;
  while (all.size() < 600) all += "round " + std::to_string(round) + " ";
  return {all.begin(), all.end()};
}

}  // namespace

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  return weft::run(argc, argv, [&](weft::communicator& world) {
    const std::chrono::duration<double> time(argc > 1 ? std::atof(argv[1]) : 1);
    const int other = 1 - world.rank();
    // Whoever wants to come before the other one may do so now: nobody has said anything yet.
    if (world.rank() == 0) {
      std::printf("victim: under way\n");
      std::fflush(stdout);
    }
    for (int looks = 0; looks < 150; ++looks) {
      (void)world.iprobe(other);
      std::this_thread::sleep_for(10ms);
    }
    const auto end = std::chrono::steady_clock::now() + time;
    int goes_on = 1;
    for (int round = 0; goes_on != 0; ++round) {
      const std::vector<char> mine = text_of(round);
      std::vector<char> theirs(mine.size());
      world.sendrecv(std::span(mine), other, std::span(theirs), other, 1, 1);
      if (theirs != mine) {
        std::printf("victim: a message came changed\n");
        std::fflush(stdout);
      }
      goes_on = world.bcast(int{round < 10 || std::chrono::steady_clock::now() < end}, 0);
      std::this_thread::sleep_for(10ms);
    }
    if (world.rank() == 0) std::printf("victim: done\n");
  });
}
