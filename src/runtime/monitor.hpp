// The thread that watches a job. It acts on the report signal, ends a job that runs too long or does not end when it
// should, names a rank that keeps its worker from others, and wakes thieves for loops whose owners have woken none.
#pragma once
#include <signal.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "base/sleeping_threads.hpp"
#include "sched/scheduler.hpp"

namespace weft {

// The functions run on the monitor's thread.
struct monitor_options {
  int report_signal = 0;      // 0: none.
  double timeout_s = 0;       // 0: none.
  double busy_warning_s = 0;  // 0: none.
  // Whether a record in a worker's mailbox is for a rank other than the one that runs there now.
  std::function<bool(worker&, record_header)> is_for_other;
  std::function<void()> report;  // Called on the report signal.
  std::function<void()> timed_out;
  std::function<void()> called;  // Called after call().
  // Called a few times a second while the job is not stopping.
  std::function<void(std::uint64_t now_ns)> looked;
  // Called while the job stops. False: it cannot end by itself, and the monitor ends the process.
  std::function<bool(std::uint64_t now_ns)> may_end;
  std::function<void()> does_not_end;  // Called before the monitor ends the process: a report.
  std::function<int()> exit_status;    // The exit status with which the monitor ends the process.
};

class monitor {
 public:
  monitor(scheduler& workers, monitor_options how);
  ~monitor();  // Ends the thread and restores the signal handlers.
  // Makes the monitor call how.called. Called by any thread.
  void call() noexcept;
  monitor(const monitor&) = delete;
  monitor& operator=(const monitor&) = delete;

 private:
  void watch();
  void release() noexcept;
  void look_for_busy_workers();
  void warn_of_busy(const worker& w, bool is_blocked);
  bool has_mail_for_others(int index);

  scheduler& workers_;
  monitor_options how_;
  int event_;  // An eventfd: counts signals, and calls in its upper half. The destructor writes, too.
  std::atomic<bool> ending_{false};
  struct seen {
    std::uint64_t passes = 0;
    std::uint64_t since_ns = 0;
    bool named = false;
    thread_standing standing;  // Since the second look.
  };
  [[nodiscard]] static bool is_blocked(const worker& w, seen& s);
  std::vector<seen> seen_;
  std::thread thread_;
};

// While it lives, a fault on a thread of a rank is reported with its rank and the likely cause; then it ends the
// process as it would without this. A handler of the program's own stays.
class fault_reports {
 public:
  fault_reports();
  ~fault_reports();
  fault_reports(const fault_reports&) = delete;
  fault_reports& operator=(const fault_reports&) = delete;
};
// Whether a fault of the calling thread is an overflow of its stack. The thread is a worker's, or one that a rank has
// made. Async-signal-safe.
[[nodiscard]] bool is_stack_overflow(const siginfo_t& details, const void* context) noexcept;
// Whether `action` is the handler of fault_reports. Async-signal-safe.
[[nodiscard]] bool reports_fault(const struct sigaction& action) noexcept;

}  // namespace weft
