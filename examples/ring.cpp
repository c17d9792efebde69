// A token goes round all ranks; each adds its number.
#include <cstdint>
#include <cstdio>
#include <weft/weft.hpp>

int main(int argc, char** argv) {
  return weft::run(argc, argv, [](weft::communicator& world) {
    const int next = (world.rank() + 1) % world.size();
    const int previous = (world.rank() + world.size() - 1) % world.size();
    if (world.rank() == 0) {
      world.send(std::int64_t{0}, next);
      std::printf("%d rank(s): the token came back with %lld\n", world.size(),
                  static_cast<long long>(world.recv<std::int64_t>(previous)));
    } else {
      world.send(world.recv<std::int64_t>(previous) + world.rank(), next);
    }
  });
}
