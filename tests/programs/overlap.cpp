// A rank that computes, in another process than the one that receives its long messages: whether they
// arrive meanwhile. `overlap FILE`: the receiver makes that file when it has them.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <span>
#include <string>
#include <vector>
#include <weft/weft.hpp>

namespace {

using std::chrono::steady_clock;

constexpr int messages = 3;

bool is_there(const std::string& file) {
  return ::access(file.c_str(), F_OK) == 0;
}

// As a computation does: without a call of weft. The limit ends it when nothing moves.
bool compute_until(const std::string& file) {
  const auto end = steady_clock::now() + std::chrono::seconds(40);
  while (!is_there(file))
    if (steady_clock::now() > end) return false;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  return weft::run(argc, argv, [&](weft::communicator& world) {
    const std::string file = argc > 1 ? argv[1] : "";
    std::vector<std::vector<int>> data(messages, std::vector<int>(2'000'000, world.rank() + 1));
    world.barrier();
    if (world.rank() == 0) {
      std::vector<weft::request> sending;
      for (int i = 0; i < messages; ++i)
        sending.push_back(world.isend(data[static_cast<std::size_t>(i)], 1, i));
      world.send(0, 1, messages);
      std::printf(compute_until(file) ? "arrived meanwhile\n" : "did not arrive meanwhile\n");
      weft::wait_all(sending);
    } else if (world.rank() == 1) {
      (void)world.recv<int>(0, messages);
      for (int i = 0; i < messages; ++i) {
        auto& into = data[static_cast<std::size_t>(i)];
        world.recv(std::span(into), 0, i);
        for (const int value : into)
          if (value != 1) std::printf("a wrong value\n");
      }
      std::ofstream(file) << "here\n";
    }
  });
}
