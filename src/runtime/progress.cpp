#include "runtime/progress.hpp"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "base/limits.hpp"
#include "base/start_thread.hpp"
#include "sync/atomics.hpp"

namespace weft {

progress_worker::progress_worker(network& between, scheduler& workers)
    : between_(between), workers_(workers), passes_seen_(between.ports().size()) {
  thread_ = start_thread("driving the network", [this] { run(); });
}

progress_worker::~progress_worker() {
  ending_.store(1, std::memory_order_relaxed);  // Relaxed: joined below.
  std_atomics::wake(ending_);
  thread_.join();
}

// Sleeps ever longer while there is nothing to do: what it is for are long messages. For longer than while
// workers are awake it sleeps only once all have been parked for half as long.
void progress_worker::run() noexcept {
  pthread_setname_np(pthread_self(), "weft-progress");
  long sleep_ns = progress_sleep_ns_min;
  while (ending_.load(std::memory_order_relaxed) == 0) {
    const bool moved = pump() > 0;
    const long most_ns = all_rested_ ? progress_sleep_ns_max_parked : progress_sleep_ns_max;
    sleep_ns = moved ? progress_sleep_ns_min : std::min(2 * sleep_ns, most_ns);
    std_atomics::wait(ending_, 0, sleep_ns);
  }
}

// Only for workers that have made no pass since the last look: the others do it themselves.
int progress_worker::pump() noexcept {
  int happened = 0;
  all_rested_ = true;
  for (std::size_t i = 0; i < passes_seen_.size(); ++i) {
    const worker& w = workers_.at(static_cast<int>(i));
    const std::uint64_t passes = w.passes();
    const bool passed = std::exchange(passes_seen_[i], passes) != passes;
    const bool parked = w.is_parked();
    all_rested_ = all_rested_ && parked && !passed;
    if (passed || parked) continue;
    comm::device& device = between_.at(static_cast<int>(i)).device();
    // As long as it flows: a long message comes in many pieces.
    for (int rounds = 0; rounds < progress_rounds_max; ++rounds) {
      const int now = device.pump();
      if (now == 0 || w.passes() != passes) break;
      happened += now;
    }
  }
  return happened;
}

}  // namespace weft
