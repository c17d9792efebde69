// Detects a job that stands still although threads live that might still bring a message. Such a job is not ended as a
// deadlock, but the monitor reports it (docs/protocols/attached-threads.md); and when it has to stop, the monitor
// does not wait for its end (stopping.md).
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/sleeping_threads.hpp"
#include "sched/scheduler.hpp"

namespace weft::diagnosis {

// Whether a thread that polls descriptors without a time limit counts as standing still, or as running.
enum class polling { stands, runs };

// The ranks of one worker.
struct worker_standing {
  std::uint64_t done = 0;  // A number that grows with what they do.
  bool all_wait = true;    // Each waits or has ended. Waits that end by themselves do not count.
};

// Used by the monitor's thread.
class stall_detector {
 public:
  // Each worker calls `standing`.
  stall_detector(scheduler& workers, std::function<worker_standing(worker&)> standing,
                 polling descriptors)
      : workers_(workers),
        standing_(std::move(standing)),
        descriptors_(descriptors),
        passes_(static_cast<std::size_t>(workers.worker_count()), 0),
        sleeps_in_kernel_(passes_.size(), false) {}

  // Called a few times a second. True, once for each stall: for `limit_s` at least no rank has sent, received or met
  // others, and no rank and none of its threads runs.
  bool has_lasted(double limit_s, std::uint64_t now_ns);
  // Called when has_lasted() is not called for a time: the next call begins anew.
  void forget();

 private:
  // What all ranks have done so far; 0 when one of them may be at work.
  std::uint64_t done_by_waiting_ranks();
  bool somebody_runs();

  scheduler& workers_;
  const std::function<worker_standing(worker&)> standing_;
  const polling descriptors_;
  std::uint64_t looked_at_ns_ = 0;
  std::uint64_t since_ns_ = 0;
  bool is_told_ = false;
  std::uint64_t done_ = 0;
  std::map<int, thread_standing> threads_;
  std::vector<std::uint64_t> passes_;
  std::vector<bool> sleeps_in_kernel_;  // By worker.
};

}  // namespace weft::diagnosis
