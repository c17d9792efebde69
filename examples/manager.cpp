// Rank 0 hands out work to whoever asks. It does not know who will ask next, nor how long the answers are.
// Run with: --weft-ranks 4
#include <cstdio>
#include <vector>
#include <weft/weft.hpp>

namespace {
enum tag { ask, divisors_of, work };
constexpr int jobs = 500;
constexpr int none = -1;

void manage(weft::communicator& world) {
  int handed_out = 0;
  int at_work = world.size() - 1;
  std::size_t divisors = 0;
  while (at_work > 0) {
    // A message whose length is known only when it is there.
    weft::message answer = world.mprobe(weft::any_source, weft::any_tag);
    const int worker = answer.status().source;
    divisors += answer.recv_vector<int>().size();
    world.send(handed_out < jobs ? ++handed_out : (--at_work, none), worker, work);
  }
  std::printf("the numbers to %d have %zu divisors\n", jobs, divisors);
}

void work_for(weft::communicator& world, int manager) {
  world.send(std::vector<int>{}, manager, ask);
  for (int number; (number = world.recv<int>(manager, work)) != none;) {
    std::vector<int> divisors;
    for (int d = 1; d <= number; ++d)
      if (number % d == 0) divisors.push_back(d);
    world.send(divisors, manager, divisors_of);
  }
}
}  // namespace

int main(int argc, char** argv) {
  return weft::run(argc, argv, [](weft::communicator& world) {
    world.rank() == 0 ? manage(world) : work_for(world, 0);
  });
}
