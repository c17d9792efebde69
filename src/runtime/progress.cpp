#include "runtime/progress.hpp"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "base/limits.hpp"
#include "base/start_thread.hpp"
#include "sync/atomics.hpp"

namespace weft {

progress_worker::progress_worker(network& between, scheduler& workers)
    : between_(between), workers_(workers), passes_seen_(between.devices().size()) {
  thread_ = start_thread("driving the network", [this] { run(); });
}

progress_worker::~progress_worker() {
  state_.store(ending, std::memory_order_relaxed);  // Relaxed: joined below.
  std_atomics::wake(state_);
  thread_.join();
}

// Relaxed: the thread reads nothing that was written after it was made.
void progress_worker::start() noexcept {
  std::uint32_t was = idle;
  if (state_.compare_exchange_strong(was, driving, std::memory_order_relaxed))
    std_atomics::wake(state_);
}

// The thread sleeps longer each time while there is nothing to do: it is for long messages and for memory that others
// use. The longest sleep is for when all workers are parked and have made no pass since the last look.
void progress_worker::run() noexcept {
  pthread_setname_np(pthread_self(), "weft-progress");
  while (state_.load(std::memory_order_relaxed) == idle) std_atomics::wait(state_, idle, -1);
  long sleep_ns = progress_sleep_ns_min;
  while (state_.load(std::memory_order_relaxed) == driving) {
    const bool moved = pump() > 0;
    const long most_ns = all_rested_ ? progress_sleep_ns_max_parked : progress_sleep_ns_max;
    sleep_ns = moved ? progress_sleep_ns_min : std::min(2 * sleep_ns, most_ns);
    std_atomics::wait(state_, driving, sleep_ns);
  }
}

// Pumps the devices of workers that compute: a worker that is not parked and has made no pass since the last look.
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
    comm::device& device = between_.at(static_cast<int>(i)).device_;
    between_.turns_.begin();
    network::driven = &workers_.at(static_cast<int>(i));
    // Again while something comes: a long message comes in many pieces.
    for (int rounds = 0; rounds < progress_rounds_max; ++rounds) {
      const int now = device.pump();
      if (now == 0 || w.passes() != passes) break;
      happened += now;
    }
    between_.turns_.end();
  }
  return happened;
}

}  // namespace weft
