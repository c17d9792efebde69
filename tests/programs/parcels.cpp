// What tests of parcels between processes run: test-parcels death | death-in-traffic | mismatch | crash | crash-here |
// refused-post | flood.
#include <signal.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#include <weft/parcels.hpp>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "parcel/mpi/tags.hpp"
#include "sched/worker.hpp"

namespace {

using namespace weft;

int die() {
  return ::raise(SIGKILL);
}
int never() {
  promise<int> nobody;
  return nobody.get_future().get();
}
int one() {
  return 1;
}
WEFT_ACTION(die);
WEFT_ACTION(never);
WEFT_ACTION(one);

// Locality 1 dies while calls of it are awaited: by fibers, and by a coroutine. Each gets an error, and the others go on.
future<bool> ends_with_error(future<int> what) {
  try {
    static_cast<void>(co_await what);
  } catch (const error& e) {
    std::printf("got: %s\n", e.what());
    co_return true;
  }
  co_return false;
}

void see_a_death() {
  if (here() != locality(0)) return;
  std::vector<future<bool>> waiting;
  for (int i = 0; i < 3; ++i) waiting.push_back(ends_with_error(async(locality(1), never)));
  waiting.push_back(ends_with_error(async(locality(1), die)));
  int failed = 0;
  for (future<bool>& each : waiting) failed += each.get() ? 1 : 0;
  failed += ends_with_error(async(locality(1), one)).get() ? 1 : 0;  // It is known to be dead.
  std::printf("%d calls failed; locality 2 says %d\n", failed, sync(locality(2), one));
}

// --- A death in the middle ---------------------------------------------------------------------------

std::atomic<int> calls_until_death{200};
std::vector<char> give_as_many(const std::vector<char>& in, std::uint64_t count) {
  if (--calls_until_death == 0) ::raise(SIGKILL);
  return std::vector<char>(count, in.front());
}
WEFT_ACTION(give_as_many);

// Calls and results of up to 512 KiB are under way both ways: each comes as it should, or gets an error.
void see_a_death_in_traffic() {
  if (here() == locality(1)) return;
  std::minstd_rand random(static_cast<unsigned>(1 + here().number()));
  std::vector<std::pair<future<std::vector<char>>, std::size_t>> all;
  for (int i = 0; i < 300; ++i) {
    const std::size_t there = std::size_t{1} << random() % 20,
                      back = std::size_t{1} << random() % 20;
    all.emplace_back(async(locality(1), give_as_many, std::vector<char>(there, 'x'), back), back);
  }
  int failed = 0, wrong = 0;
  for (auto& [result, size] : all) {
    try {
      wrong += result.get() == std::vector<char>(size, 'x') ? 0 : 1;
    } catch (const error&) {
      ++failed;
    }
  }
  if (here() != locality(0)) return;
  std::printf("%s calls failed, %d came wrong; locality 2 says %d\n", failed > 0 ? "some" : "no",
              wrong, sync(locality(2), one));
}

// --- A failure in the middle --------------------------------------------------------------------------

void throw_something() {
  throw std::runtime_error("it broke");
}
WEFT_ACTION(throw_something);

// The locality that fails takes no more of what is on its way to it.
void see_a_failure_in_traffic() {
  if (here() != locality(0)) return;
  const std::vector<char> much(std::size_t{1} << 20, 'x');
  post(locality(1), throw_something);
  for (int i = 0; i < 20; ++i) static_cast<void>(sync(locality(1), give_as_many, much, 1u));
}

// --- A fault --------------------------------------------------------------------------------------

int write_nowhere(std::vector<int> where) {
  volatile int* volatile nowhere = nullptr;
  *nowhere = where.front();
  return 0;
}
WEFT_ACTION(write_nowhere);

// --- What an MPI does not take ------------------------------------------------------------------------

std::size_t length_of(const std::vector<char>& what) {
  return what.size();
}
WEFT_ACTION(length_of);

void post_what_is_refused() {
  if (here() == locality(0))
    std::printf("%zu\n", sync(locality(1), length_of, std::vector<char>(50'000)));
}

// --- A flood --------------------------------------------------------------------------------------

std::atomic<long> taken{0};
void take(long count) {
  taken += count;
}
// Keeps its worker from running what comes, as long as any does.
void take_none() {
  worker& here = *worker::current();
  for (std::uint64_t last_ns = now_ns(); now_ns() - last_ns < 300'000'000;)
    if (here.poll()) last_ns = now_ns();
}
long peak_kilobytes() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss;
}
bool have_come(long count) {
  return taken == count;
}
WEFT_ACTION(take);
WEFT_ACTION(take_none);
WEFT_ACTION(peak_kilobytes);
WEFT_ACTION(have_come);

void flood() {
  if (here() != locality(0)) return;
  constexpr long count = 1'000'000;
  const locality there(1);
  const long before = sync(there, peak_kilobytes);
  future<void> held = async(there, take_none);
  for (long i = 0; i < count; ++i) post(there, take, 1L);
  held.get();
  while (!sync(there, have_come, count)) {
  }
  std::printf("%ld parcels taken; memory grew by %ld MiB\n", count,
              (sync(there, peak_kilobytes) - before) / 1024);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  // Of an action that only some processes have: the variable is set for one program of the job.
  const char* const odd = std::getenv("TEST_ODD_ACTION");
  const char* const odd_types = std::getenv("TEST_ODD_TYPES");
  static detail::action_entry additional(
      {odd != nullptr ? odd : "an_action", "", &argv, false, {odd_types ? odd_types : "FiiE", 0}},
      [](detail::received_call&) {});
  if (mode == "death") return run_tasks(argc, argv, see_a_death);
  if (mode == "death-in-traffic") return run_tasks(argc, argv, see_a_death_in_traffic);
  if (mode == "failure-in-traffic") return run_tasks(argc, argv, see_a_failure_in_traffic);
  if (mode == "flood") return run_tasks(argc, argv, flood);
  if (mode == "crash" || mode == "crash-here")
    return run_tasks(argc, argv, [&] {
      if (here() != locality(0)) return;
      const locality there(mode == "crash" ? locality_count() - 1 : 0);
      static_cast<void>(sync(there, write_nowhere, std::vector<int>(4000, 1)));
    });
  if (mode == "refused-post") {
    detail::mpi_part_bytes_max = std::size_t{1} << 20;
    detail::mpi_post_bytes_max = 20'000;
    return run_tasks(argc, argv, post_what_is_refused);
  }
  return run_tasks(argc, argv,
                   [] { static_cast<void>(sync(locality(locality_count() - 1), one)); });
}
