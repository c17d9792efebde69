// Many ranks: a token that passes all of them, and one rank that receives from any of them.
#include "adapter.hpp"

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](bench::peers& p) {
    const int next = (p.rank() + 1) % p.size(), previous = (p.rank() + p.size() - 1) % p.size();
    bench::measure(
        p, "ring/hop/8B",
        [&](long n) {
          for (long i = 0; i < n; ++i) {
            if (p.rank() == 0) p.send(std::uint64_t{1}, next);
            const auto token = p.recv<std::uint64_t>(previous);
            if (p.rank() != 0) p.send(token, next);
          }
        },
        p.size());
    // One message from every other rank, received in whatever order they come. A repetition is one
    // gather: a second one would let senders run ahead and share the cost of waking them.
    bench::measure(
        p, "ring/gather_any/8B",
        [&](long n) {
          for (long i = 0; i < n; ++i) {
            if (p.rank() != 0) {
              p.send(std::uint64_t{1}, 0);
              continue;
            }
            for (int m = 1; m < p.size(); ++m) (void)p.recv_any<std::uint64_t>();
          }
        },
        std::max(p.size() - 1, 1), 0);
  });
}
