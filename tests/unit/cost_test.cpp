// What a job costs while nothing is wrong: processor time of ranks that wait, memory of channels.
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <utility>

#include "job.hpp"

namespace weft {
namespace {

using std::chrono::duration;

// User's and system's, of the whole process.
double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

std::size_t resident_bytes() {
  std::size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// One that spun would use all of its second.
TEST(waiting_ranks, use_less_than_a_tenth_of_a_core_together) {
  constexpr double share_max = 0.1;
  double share = 1;
  run_ranks(8, 4, [&](communicator& world) {
    world.barrier();
    if (world.rank() != 0) {
      (void)world.recv<int>(0);
      return;
    }
    // Until the others have given up spinning, which a busy machine may draw out.
    share = least_of(4, share_max, [] {
      sleep_for(std::chrono::milliseconds(100));
      const auto start = std::chrono::steady_clock::now();
      const double before = processor_seconds();
      sleep_for(std::chrono::seconds(1));
      const double used = processor_seconds() - before;
      return used / duration<double>(std::chrono::steady_clock::now() - start).count();
    });
    for (int other = 1; other < world.size(); ++other) world.send(0, other);
  });
  EXPECT_LE(share, share_max);
}

// More of the stack than a call takes: a page more of each rank would be 4 MB.
[[gnu::noinline]] void touch_stack() {
  volatile char deep[32 * 1024];
  for (std::size_t at = 0; at < sizeof deep; at += 1024) deep[at] = 0;
}

// Bytes that a thousand ranks take when each talks to all, and not to one only.
long growth_with_all_partners() {
  malloc_trim(0);  // What a job before has given back would be used again, and not seen.
  constexpr int ranks = 1000;
  std::size_t with_one_partner = 0, with_all = 0;
  run_ranks(ranks, 3, [&](communicator& world) {
    touch_stack();
    const int me = world.rank();
    const auto talk = [&](int distance) {
      int got = -1;
      const int from = (me + ranks - distance) % ranks;
      world.sendrecv(me, (me + distance) % ranks, std::span(&got, 1), from);
      EXPECT_EQ(got, from);
    };
    // As many messages of either kind, so that only the number of partners differs.
    for (int i = 1; i < ranks; ++i) talk(1);
    world.barrier();
    if (me == 0) with_one_partner = resident_bytes();
    world.barrier();
    for (int i = 1; i < ranks; ++i) talk(i);
    world.barrier();
    if (me == 0) with_all = resident_bytes();
  });
  return static_cast<long>(with_all) - static_cast<long>(with_one_partner);
}

// A word kept for each pair of them would be 8 MB, a cache line 64. Messages that come early take some, too.
TEST(channels, do_not_grow_with_the_square_of_the_ranks) {
  if (sanitized) GTEST_SKIP() << "a sanitizer keeps memory of its own for all that is touched";
  constexpr long bytes_max = 6L * 1024 * 1024;
  EXPECT_LE(least_of(3, bytes_max, growth_with_all_partners), bytes_max);
}

}  // namespace
}  // namespace weft
