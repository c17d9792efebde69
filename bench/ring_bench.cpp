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
        std::max(p.size() - 1, 1), /*sample_ms=*/0, /*ends_last=*/0);
    // One pair talks, and rank 0 would take a message of anybody: what the others cost that are silent.
    bench::measure(
        p, "ring/any_of_idle/8B",
        [&](long n) {
          const int last = p.size() - 1;
          if (p.rank() != 0 && p.rank() != last) return;
          for (long i = 0; i < n; ++i) {
            if (p.rank() == 0) {
              p.send(std::uint64_t{1}, last);
              (void)p.recv_any<std::uint64_t>();
            } else {
              p.send(p.recv<std::uint64_t>(0), 0);
            }
          }
        },
        2, 100);  // Long, so that meeting the others before and after does not count.
  });
}
