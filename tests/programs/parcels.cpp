// What tests of parcels between processes run: test-parcels death | mismatch.
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <weft/parcels.hpp>

#include "base/log.hpp"

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

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  // Of an action that only some processes have: the variable is set for one program of the job.
  const char* const odd = std::getenv("TEST_ODD_ACTION");
  static detail::action_entry additional(odd != nullptr ? odd : "an_action", false, &argv,
                                         [](detail::received_call&) {});
  if (mode == "death") return run_tasks(argc, argv, see_a_death);
  return run_tasks(argc, argv,
                   [] { static_cast<void>(sync(locality(locality_count() - 1), one)); });
}
