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
    weft::detail::rank_state& me = weft::detail::calling_rank("bench");
    initiator& mine = initiator::attach(me);
    const weft::rma::region& heap =
        mine.allocate(weft::communicator(me.shared->world, me.number), std::size_t{1} << 20);
    weft::rma::context c;
    long* const words = reinterpret_cast<long*>(heap.own().data());
    const auto word = [&](int rank, std::uint64_t index) {
      return heap.at(rank, index * sizeof(long));
    };
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
        mine.put(c, word(1, 8), i);
        mine.quiet(c);
      }
    });
    alone("rma/put/8B", [&](long iterations) {
      for (long i = 0; i < iterations; ++i) mine.put(c, word(1, 8), i);
      mine.quiet(c);
    });
    alone("rma/put/64KiB", [&](long iterations) {
      for (long i = 0; i < iterations; ++i) {
        mine.put(c, heap.at(1, 4096), source.data(), source.size());
        mine.quiet(c);
      }
    });
    alone("rma/get/8B", [&](long iterations) {
      long sum = 0;
      for (long i = 0; i < iterations; ++i) sum += mine.get<long>(c, word(1, 8));
      words[16] = sum;
    });
    alone("rma/fetch_add/8B", [&](long iterations) {
      for (long i = 0; i < iterations; ++i) (void)mine.fetch<update::add>(c, word(1, 24), 1L);
    });
    if (bench::wanted("rma/ping_pong/8B") && p.rank() < 2) {
      const weft::wait_description waiting{"ping-pong"};
      long round = 0;
      const auto play = [&](long iterations) {
        for (long i = 0; i < iterations; ++i) {
          ++round;
          if (p.rank() == 0) mine.put(c, word(1, 0), round);
          mine.wait_until([&] { return initiator::look(words) == round; }, waiting);
          if (p.rank() == 1) mine.put(c, word(0, 0), round);
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
