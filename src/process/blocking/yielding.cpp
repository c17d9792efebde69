#include "process/blocking/yielding.hpp"

#include <chrono>
#include <cstdint>

#include "base/forked_child.hpp"
#include "process/blocking/yielding.h"
#include "process/signals/signal_hooks.hpp"
#include "sched/worker.hpp"
#include "weft/run.hpp"

namespace weft::process {

bool blocks_other_ranks() {
  if (!worker::in_shared_program() || is_in_middle_of_code() || is_forked_child()) return false;
  worker& here = *worker::current();
  const shared_section inside(here);
  return here.has_others();
}

bool may_yield() {
  if (worker::caller() == nullptr || is_forked_child()) return false;
  const signal_hooks* const signals = signals_of_ranks();
  if (signals != nullptr && signals->is_in_the_middle()) return false;
  worker& here = *worker::current();
  const shared_section inside(here);
  const bool keeps = here.has_others() || (signals != nullptr && signals->has_own());
  return keeps && !here.running().is_urgent;
}

bool yield_longer(long long& rest_ns) {
  if (!may_yield()) return false;
  worker& here = *worker::current();
  rest_ns = longer_rest_ns(rest_ns);
  static constexpr wait_description thread{"a wait for a thread"};
  {
    const shared_section inside(here);
    here.sleep(static_cast<std::uint64_t>(rest_ns), thread, false);
  }
  // Handlers run after the wait: one may leave this by a jump, and whoever has called may let no exception through.
  if (const signal_hooks* const signals = signals_of_ranks(); signals != nullptr) signals->run();
  return true;
}

}  // namespace weft::process

extern "C" {

int weft_lets_others_run(long long* rest) {
  return weft::process::blocks_other_ranks() && weft::process::yield_longer(*rest) ? 1 : 0;
}

int weft_sleep(long long nanoseconds) {
  if (weft::worker::caller() == nullptr || weft::process::is_in_middle_of_code() ||
      weft::is_forked_child())
    return 0;
  if (nanoseconds <= 0)
    weft::yield();
  else
    weft::sleep_for(std::chrono::nanoseconds(nanoseconds));
  return 1;
}
}
