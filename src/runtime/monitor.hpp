// The thread that watches a job: it takes the report signal, ends a job that runs too long or does
// not end when it should, names a rank that keeps its worker from others, and wakes thieves for
// loops that nobody else has told of.
#pragma once
#include <signal.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "sched/scheduler.hpp"

namespace weft {

struct monitor_options {
  int report_signal = 0;      // 0: none.
  double timeout_s = 0;       // 0: none.
  double busy_warning_s = 0;  // 0: none.
  // Whether a record that came for a worker is for a rank that it does not run now.
  std::function<bool(worker&, record_header)> is_for_other;
  std::function<void()> report;  // On the signal; runs on the monitor's thread.
  std::function<void()> timed_out;
  std::function<void()> called;  // After call(); runs on the monitor's thread.
  std::function<void(std::uint64_t now_ns)>
      looked;  // A few times a second, while the job is not stopping.
  // The same while it is: whether it can end by itself.
  std::function<bool(std::uint64_t now_ns)> may_end;
  std::function<void()> does_not_end;  // Says what its ranks do before the process is ended.
  std::function<int()> exit_status;    // Of the failure that such a job has told.
};

class monitor {
 public:
  monitor(scheduler& workers, monitor_options how);
  ~monitor();  // Ends the thread; signal handlers are as before.
  // Called by any thread, workers too.
  void call() noexcept;
  monitor(const monitor&) = delete;
  monitor& operator=(const monitor&) = delete;

 private:
  void watch();
  void release() noexcept;
  void look_for_busy_workers();
  void warn_of_busy(const worker& w);
  bool has_mail_for_others(int index);

  scheduler& workers_;
  monitor_options how_;
  int event_;  // Counts signals; calls in its upper half. The destructor writes to it too.
  std::atomic<bool> ending_{false};
  struct seen {
    std::uint64_t passes = 0;
    std::uint64_t since_ns = 0;
    bool named = false;
  };
  std::vector<seen> seen_;
  std::thread thread_;
};

// While it lives, a fault on a worker's thread is reported with its rank and the likely cause, and
// then ends the process as it would have anyway. Where the program has a handler, that one stays.
class fault_reports {
 public:
  fault_reports();
  ~fault_reports();
  fault_reports(const fault_reports&) = delete;
  fault_reports& operator=(const fault_reports&) = delete;
};
// Whether a fault of the calling thread, a worker's or one that a rank has made, is an overflow of the stack that it stands on.
// Async-signal-safe.
[[nodiscard]] bool is_stack_overflow(const siginfo_t& details, const void* context) noexcept;
// Whether it is theirs. Async-signal-safe.
[[nodiscard]] bool reports_fault(const struct sigaction& action) noexcept;

}  // namespace weft
