// Why a job has failed, and its exit status.
#pragma once
#include <mutex>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "runtime/termination.hpp"

namespace weft::detail {

// The exit status of timeout(1).
constexpr int timeout_status = 124;

// The first failure of a job, and its exit status. Any thread calls it. The failure is told as soon as it is known:
// what the program does while it unwinds may hang, or end the process. In a job of several processes one process
// tells the failure that came first.
class failure_note {
 public:
  // Notes the failure and tells it, unless there was one before. `explains_stop`: the rank that it is about has had the job
  // stopped without a reason, which other processes have noted, and this one from them: it is told unless one has been.
  void tell(const std::string& what, int exit_status, bool explains_stop = false) {
    const bool is_first = note(exit_status);
    {
      const std::lock_guard hold(lock_);
      if (!is_first && (!explains_stop || has_told_)) return;
      has_told_ = true;
    }
    if (ending_ != nullptr)
      ending_->fail(what, exit_status);
    else
      log_text(what);
  }
  // Notes the failure; somebody else tells it. False when there was one before.
  bool note(int exit_status) {
    const std::lock_guard hold(lock_);
    return std::exchange(status_, status_ != 0 ? status_ : exit_status) == 0;
  }
  [[nodiscard]] int status() const {
    const std::lock_guard hold(lock_);
    return status_;
  }
  // Called before the ranks run, and with null after them: `ending` decides which process tells.
  void set_ending(termination* ending) noexcept { ending_ = ending; }

 private:
  mutable std::mutex lock_;
  int status_ = 0;
  bool has_told_ = false;
  termination* ending_ = nullptr;
};

}  // namespace weft::detail
