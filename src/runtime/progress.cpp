#include "runtime/progress.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>

#include "base/kernel.hpp"
#include "base/limits.hpp"

namespace weft {

progress_worker::progress_worker(network& between, scheduler& workers)
    : between_(between), workers_(workers), passes_seen_(between.ports().size()) {
  thread_ = std::thread([this] { run(); });
}

progress_worker::~progress_worker() {
  ending_.store(true, std::memory_order_relaxed);  // Relaxed: joined below.
  thread_.join();
}

// Sleeps ever longer while there is nothing to do: what it is for are long messages. Each sleep is
// about as long as all before it, so after the workers were parked the first look comes no later than
// they had been idle for.
void progress_worker::run() noexcept {
  pthread_setname_np(pthread_self(), "weft-progress");
  long sleep_ns = progress_sleep_ns_min;
  while (!ending_.load(std::memory_order_relaxed)) {
    const bool moved = pump() > 0;
    const long most_ns =
        workers_.all_parked() ? progress_sleep_ns_max_parked : progress_sleep_ns_max;
    sleep_ns = moved ? progress_sleep_ns_min : std::min(2 * sleep_ns, most_ns);
    sleep_in_kernel(std::chrono::nanoseconds(sleep_ns));
  }
}

// Only for workers that have made no pass since the last look: the others do it themselves.
int progress_worker::pump() noexcept {
  int happened = 0;
  for (std::size_t i = 0; i < passes_seen_.size(); ++i) {
    const worker& w = workers_.at(static_cast<int>(i));
    const std::uint64_t passes = w.passes();
    if (std::exchange(passes_seen_[i], passes) != passes || w.is_parked()) continue;
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
