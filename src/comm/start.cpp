// The job of a process that was started by somebody else's launcher, or by none: runtimes that are
// given no bootstrap find it themselves, and all of them are in it.
#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/environment.hpp"
#include "comm/endpoints.hpp"
#include "comm/runtime_state.hpp"

namespace weft::comm {

namespace {

// The first runtime joins the job, the last one leaves it. A launcher lets a process be in one job at
// a time, and every process makes and ends its runtimes in the same order.
class job_of_this_process {
 public:
  // Never freed: a thread of the bootstrap may still tell of a death.
  static job_of_this_process& get() {
    static auto* const only = new job_of_this_process;
    return *only;
  }

  // Calls `join(bootstrap&)`; from then on `who` is told which processes have died.
  template <class Join>
  void enter(runtime& who, Join&& join) {
    const std::scoped_lock one_at_a_time(turn_);
    if (job_ == nullptr) begin();
    try {
      join(*job_);
    } catch (...) {
      // The job is dropped without `finish`, so the others learn that this process has failed.
      if (members_.empty()) job_.reset();
      throw;
    }
    const std::scoped_lock hold(telling_);
    members_.push_back(&who);
    for (const auto& [process, why] : deaths_) who.mark_failed(process, why);
  }

  void leave(runtime& who) noexcept {
    const std::scoped_lock one_at_a_time(turn_);
    {
      const std::scoped_lock hold(telling_);
      std::erase(members_, &who);
      if (!members_.empty()) return;
    }
    job_->finish();
    job_.reset();
  }

 private:
  void begin() {
    deaths_.clear();
    job_ = make_bootstrap();
    job_->on_failure([this](int process, const std::string& why) {
      const std::scoped_lock hold(telling_);
      deaths_.emplace_back(process, why);
      for (runtime* const each : members_) each->mark_failed(process, why);
    });
  }

  std::mutex turn_;  // Held while a runtime comes or goes.
  std::unique_ptr<weft::bootstrap> job_;
  std::mutex telling_;  // Of all below. Taken after turn_.
  std::vector<runtime*> members_;
  std::vector<std::pair<int, std::string>> deaths_;
};

runtime_options with_environment(runtime_options how) {
  if (const char* const named = ::secure_getenv("WEFT_TRANSPORT");
      named != nullptr && *named != '\0' && how.transport == "auto")
    how.transport = named;
  if (const char* const named = ::secure_getenv("WEFT_SECURE");
      named != nullptr && *named != '\0' && how.secure == "auto")
    how.secure = named;
  return how;
}

}  // namespace

runtime::runtime(const runtime_options& how)
    : state_(std::make_unique<state>(*this, with_environment(how))) {
  auto& own = job_of_this_process::get();
  own.enter(*this, [this](weft::bootstrap& job) {
    state_->make_endpoints = default_endpoints(job, state_->options);
    state_->join(job);
  });
  note_environment_read();
  if (process() == 0) tell_of_environment();
  state_->leave = [&own, this] { own.leave(*this); };
}

}  // namespace weft::comm
