// One-sided memory between two ranks, below any face: rank 0 acts on the memory of rank 1, which waits in a barrier.
//
//   rma/put_quiet/8B    a word, complete at the target
//   rma/put/8B          a word in a stream, one quiet at the end
//   rma/put/64KiB       a block, complete at the target
//   rma/get/8B          a word
//   rma/fetch_add/8B    an update whose old value is wanted
//   rma/ping_pong/8B    half a round trip of words that both wait for
#include <vector>

#include "adapter.hpp"
#include "rank/state.hpp"
#include "rma/initiator.hpp"

namespace {

using weft::rma::initiator;
using weft::rma::update;

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](bench::peers& p) {
    initiator& mine = initiator::attach(weft::detail::calling_rank("bench"), std::size_t{1} << 20);
    weft::rma::context c;
    long* const words = reinterpret_cast<long*>(mine.heap().data());
    std::byte* const block = mine.heap().data() + 4096;
    const std::vector<std::byte> source(64 * 1024, std::byte{1});
    // Rank 0 measures alone; whoever takes part besides rank 1 waits.
    const auto alone = [&](const char* name, const auto& act) {
      if (!bench::wanted(name)) return;
      p.barrier();
      if (p.rank() == 0) {
        const auto samples = bench::sample([&](long iterations) {
          const double start = bench::clock_ns();
          act(iterations);
          return bench::clock_ns() - start;
        });
        bench::print_row(name, bench::setup_of(p), "ns", samples);
      }
      p.barrier();
    };
    alone("rma/put_quiet/8B", [&](long iterations) {
      for (long i = 0; i < iterations; ++i) {
        mine.put(c, words + 8, i, 1);
        mine.quiet(c);
      }
    });
    alone("rma/put/8B", [&](long iterations) {
      for (long i = 0; i < iterations; ++i) mine.put(c, words + 8, i, 1);
      mine.quiet(c);
    });
    alone("rma/put/64KiB", [&](long iterations) {
      for (long i = 0; i < iterations; ++i) {
        mine.put(c, block, source.data(), source.size(), 1);
        mine.quiet(c);
      }
    });
    alone("rma/get/8B", [&](long iterations) {
      long sum = 0;
      for (long i = 0; i < iterations; ++i) sum += mine.get(c, words + 8, 1);
      words[16] = sum;
    });
    alone("rma/fetch_add/8B", [&](long iterations) {
      for (long i = 0; i < iterations; ++i) (void)mine.fetch<update::add>(c, words + 24, 1L, 1);
    });
    if (bench::wanted("rma/ping_pong/8B") && p.rank() < 2) {
      const weft::wait_description waiting{"ping-pong"};
      long round = 0;
      const auto play = [&](long iterations) {
        for (long i = 0; i < iterations; ++i) {
          ++round;
          if (p.rank() == 0) mine.put(c, words, round, 1);
          mine.wait_until([&] { return initiator::look(words) == round; }, waiting);
          if (p.rank() == 1) mine.put(c, words, round, 0);
        }
      };
      // Rank 1 is told how long each of rank 0's samples is; 0: no more.
      if (p.rank() == 0) {
        const auto samples = bench::sample([&](long iterations) {
          p.send(iterations, 1);
          const double start = bench::clock_ns();
          play(iterations);
          return (bench::clock_ns() - start) / 2;
        });
        p.send(0L, 1);
        bench::print_row("rma/ping_pong/8B", bench::setup_of(p), "ns", samples);
      } else {
        while (const long iterations = p.recv<long>(0)) play(iterations);
      }
    }
    p.barrier();
  });
}
