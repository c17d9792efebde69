// An address inside an aggregate, however deep.
// Expect: weft: .*weft::members\(\) of it
#include <vector>
#include <weft/weft.hpp>

struct chain {
  int id;
  chain* next;
};
struct node {
  double weight[3];
  chain first;
};

void rank(weft::communicator& world, std::vector<int>& values) {
  static_cast<void>(world);
  static_cast<void>(values);
#ifdef MISUSE
  world.send(node{}, 1);
#else
  std::vector<chain> all(3);
  world.send(weft::members(all, &chain::id), 1);
#endif
}
