// Ranks that wait for words of their memory with workers that sleep at once: a lost wake-up hangs the test, and the
// job's time limit or a false report of a deadlock ends it. Bounded by time; RMA_WAITS=1000000 asks for so many
// waits instead.
#include <cstdlib>
#include <random>

#include "job.hpp"
#include "rank/state.hpp"
#include "rma/initiator.hpp"
#include "stress/stress.hpp"

namespace weft {
namespace {

using rma::initiator;
using rma::update;

// Pairs exchange words; each rank also writes words that nobody waits for, which wake sleepers in vain.
long exchange_words(communicator& world, const stress::run& run, long waits) {
  initiator& mine = initiator::attach(detail::calling_rank("test"));
  const rma::region& heap = mine.allocate(world, 1 << 16, sizeof(long));
  rma::context c;
  long* const words = reinterpret_cast<long*>(heap.own().data());
  const int me = world.rank();
  const int partner = me ^ 1;
  auto random = run.random(static_cast<std::size_t>(me));
  long round = 0;
  bool goes_on = true;
  while (goes_on) {
    ++round;
    // The even one of a pair decides, and says so in the word: negative, no more.
    if (me % 2 == 0) {
      goes_on = waits != 0 ? round < waits / world.size() : run.time_left();
      mine.put(c, heap.at(partner, 0), goes_on ? round : -round);
      mine.wait_until([&] { return initiator::look(&words[8]) == round; }, {"answer"});
    } else {
      mine.wait_until([&] { return std::abs(initiator::look(words)) == round; }, {"question"});
      goes_on = initiator::look(words) > 0;
      mine.put(c, heap.at(partner, 8), round);
    }
    if (random() % 4 == 0)
      mine.change<update::add>(
          c, heap.at(static_cast<int>(random() % static_cast<unsigned>(world.size())), 16), 1L);
  }
  mine.quiet(c);
  world.barrier();
  return round;
}

void exchange_in_job(int ranks, int workers) {
  const char* const asked = std::getenv("RMA_WAITS");
  const long waits = asked != nullptr ? std::atol(asked) : 0;
  const stress::run run;
  options how = job_of(ranks, workers, "cyclic");  // Partners are on different workers.
  how.spin_us = 0;                                 // Every wait parks.
  if (waits != 0) how.timeout_s = 3600;
  run_ranks(how, [&](communicator& world) {
    const long rounds = exchange_words(world, run, waits);
    const long all = world.allreduce(rounds, std::plus<>{});
    if (world.rank() == 0) std::printf("%d ranks, %d workers: %ld waits\n", ranks, workers, all);
  });
}

TEST(rma_stress, pairs_on_workers_that_sleep_at_once_lose_no_word) {
  exchange_in_job(2, 2);
}

TEST(rma_stress, many_ranks_on_a_worker_lose_no_word) {
  exchange_in_job(40, 2);
}

}  // namespace
}  // namespace weft
