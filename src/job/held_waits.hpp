// In a checked job: waits that a check makes longer than they need be, to see whether the program can do without their
// early end. When every rank waits and nothing is under way, the held waits are let go: had they not been held, they would
// have been over before, and a deadlock is looked for again without them. So a check that holds waits ends no program.
//
//   a rank      begins a wait with `hold`, whose `is_let_go()` is part of the wait's condition
//   the worker  that finds the process quiescent calls let_go_when_quiescent(); true: it is no deadlock
//   the monitor wakes workers now and then, so that a hold that has lasted long enough ends although other ranks compute
//               or poll
#pragma once
#include <atomic>
#include <cstdint>

#include "base/clock.hpp"
#include "base/limits.hpp"
#include "sched/scheduler.hpp"

namespace weft::detail {

class held_waits {
 public:
  // Called by the worker that found the process quiescent. True: there were held waits, which go on now.
  bool let_go_when_quiescent(scheduler& workers) noexcept {
    if (count_.load(std::memory_order_relaxed) == 0) return false;
    quiescent_times_.fetch_add(1, std::memory_order_relaxed);
    wake(workers);
    return true;
  }
  // Called by the monitor.
  void look_again(scheduler& workers) const noexcept {
    if (count_.load(std::memory_order_relaxed) != 0) wake(workers);
  }

  // One held wait, on the stack of the rank that waits.
  class hold {
   public:
    explicit hold(held_waits& of) noexcept
        : of_(of),
          quiescent_times_before_(of.quiescent_times_.load(std::memory_order_relaxed)),
          since_ns_(now_ns()) {
      of.count_.fetch_add(1, std::memory_order_relaxed);
    }
    ~hold() { of_.count_.fetch_sub(1, std::memory_order_relaxed); }
    hold(const hold&) = delete;
    hold& operator=(const hold&) = delete;
    // All ranks waited.
    [[nodiscard]] bool was_quiescent_since() const noexcept {
      return of_.quiescent_times_.load(std::memory_order_relaxed) != quiescent_times_before_;
    }
    [[nodiscard]] bool is_let_go() const noexcept {
      return was_quiescent_since() || now_ns() - since_ns_ > held_wait_ns_max;
    }

   private:
    held_waits& of_;
    const std::uint64_t quiescent_times_before_;
    const std::uint64_t since_ns_;
  };

 private:
  static void wake(scheduler& workers) noexcept {
    for (int i = 0; i < workers.worker_count(); ++i) workers.at(i).notify();
  }

  // Relaxed: they are written before workers park or are woken, which orders them for those that look.
  std::atomic<std::uint64_t> count_{0};
  std::atomic<std::uint64_t> quiescent_times_{0};  // How often all ranks waited.
};

}  // namespace weft::detail
