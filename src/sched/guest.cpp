#include "sched/guest.hpp"

#include <sched.h>

#include <chrono>
#include <thread>

#include "base/limits.hpp"
#include "base/pause.hpp"
#include "sched/scheduler.hpp"
#include "sched/worker.hpp"

namespace weft {
namespace {

// Whoever has what this thread waits for may need its core, and may need it for long.
void rest_from(unsigned round) noexcept {
  if (round < helm_spins_max)
    pause_processor();
  else if (round < helm_spins_max + helm_yields_max)
    sched_yield();
  else
    std::this_thread::sleep_for(std::chrono::microseconds(helm_rest_us));
}

}  // namespace

void helm::take() noexcept { who_.take(this_thread(), rest_from); }

void helm::offer() noexcept {
  constexpr unsigned yields = 4;
  who_.offer(this_thread(), rest_from, helm_spins_max + yields);
}

guest::guest(worker& of, void* identity) : of_(of), identity_(identity) {
  of_.helm_->take();
  install();
}

guest::~guest() {
  remove();
  of_.helm_->give();
}

void guest::install() noexcept {
  worker::current_worker_ = &of_;
  worker::identity_ = identity_;
  of_.guest_ = this;
  of_.short_ways_left_ = 0;  // Its waits never switch to a fiber.
}

void guest::remove() noexcept {
  of_.guest_ = nullptr;
  worker::current_worker_ = nullptr;
  worker::identity_ = nullptr;
  // Fibers run on the worker's own thread only, which may be asleep.
  if (of_.asleep_for_ != nullptr && of_.has_own_work(*of_.asleep_for_)) of_.notify();
}

void guest::step_aside(unsigned round) {
  remove();
  if (of_.helm_->is_wanted()) {
    of_.helm_->offer();
  } else {
    of_.helm_->give();
    rest_from(round);
    of_.helm_->take();
  }
  install();
}

thread_origin& origin_of_this_thread() noexcept {
  static thread_local constinit thread_origin origin;
  return origin;
}

void worker::share() {
  if (helm_ != nullptr) return;
  helm_ = std::make_unique<helm>();
  helm_->take();
  owner_.note_guests();
}

bool worker::enter_shared() {
  if (helm_ == nullptr || helm_->held_here()) return false;
  helm_->take();
  return true;
}

void worker::leave_shared() noexcept {
  if (helm_ != nullptr && helm_->held_here()) helm_->give();
}

// The wait of a guest: progress and looks, but no fibers, no thefts and no parking.
void worker::block_guest(waiter& w) {
  for (unsigned round = 0;; ++round) {
    if (w.holds(w.subject)) return;
    const bool any = poll();
    if (unwinding_ && w.may_stop) throw job_stopped{};
    if (w.holds(w.subject)) return;
    if (any) round = 0;
    guest_->step_aside(round);
  }
}

}  // namespace weft
