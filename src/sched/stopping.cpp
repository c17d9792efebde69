// What a worker does about rare requests: reports, new mailboxes, and the stop of the job.
// docs/protocols/stopping.md.
#include <mutex>
#include <vector>

#include "sched/scheduler.hpp"
#include "sched/worker.hpp"

namespace weft {

bool worker::handle_interrupts() {
  const std::lock_guard hold(owner_.lock_);
  interrupts_seen_ = owner_.interrupts_.value();
  inbound_.clear();
  for (std::size_t i = 0; i < inbound_storage_.size(); ++i) {
    mail_of_[i] = inbound_storage_[i].get();
    if (mail_of_[i] != nullptr) inbound_.push_back({mail_of_[i], static_cast<int>(i)});
  }
  const auto here = static_cast<std::size_t>(index_);
  // Written once. Other workers read it only in answers to what this worker has sent afterwards.
  if (source_ == nullptr && !owner_.sources_.empty()) source_ = owner_.sources_[here].get();
  const bool is_asked =
      owner_.collect_ != nullptr && owner_.collected_[here] != owner_.collect_round_;
  if (is_asked && attached_thread_ != nullptr) {
    --interrupts_seen_;  // The worker's own thread knows where its fibers stand.
  } else if (is_asked) {
    owner_.collected_[here] = owner_.collect_round_;
    (*owner_.collect_)(*this);
    --owner_.collect_left_;
  }
  if (hooks.look != nullptr && attached_thread_ == nullptr) hooks.look(*this);
  if (!owner_.stopping()) return false;
  if (!stop_acknowledged_) {
    if (events_ != nullptr && !events_->no_writes_pending()) {
      --interrupts_seen_;  // Something still writes into memory of a fiber: look again in the next pass.
      return true;
    }
    stop_acknowledged_ = true;
    needs_slow_path_ = true;
    fast_waits_left_ = 0;
    if (owner_.stop_acknowledged_.arrive() == 0) owner_.interrupt_workers();
  }
  if (!unwinding_ && owner_.stop_acknowledged_.all_arrived()) {
    unwinding_ = true;
    owner_.abandon_network_work();
    release_waiters();
  }
  return true;
}

// Every suspended fiber runs again, to unwind or, where its wait may not be stopped, to wait on.
void worker::release_waiters() noexcept {
  looked_at_.clear();
  each_fiber([&](fiber& f) {
    if (f.waiting_in == nullptr || &f == &running()) return;
    if (f.waits_for != nullptr) return release(*f.waits_for);  // It may be ready already.
    for (const fiber* ready = first_ready(); ready != nullptr; ready = ready->next)
      if (ready == &f) return;
    make_ready(f);
  });
}

void worker::call(fiber& f) noexcept {
  f.is_called = true;
  if (f.waiting_in == nullptr || &f == &running()) return;
  // Other fibers that wait for the same counter find it pending, and wait again.
  if (f.waits_for != nullptr) return release(*f.waits_for);
  if (std::erase_if(looked_at_, [&](const looked_at& at) { return at.f == &f; }) != 0)
    make_ready(f);
}

void worker::stop_and_wait() noexcept {
  owner_.request_stop();
  static constexpr wait_description end{"the end of the job"};
  wait_until(looks{[this] { return unwinding_; }}, end, false);
}

void worker::wait_for_the_end() {
  static constexpr wait_description end{"the end of the job"};
  wait_until(looks{[] { return false; }}, end);
}

}  // namespace weft
