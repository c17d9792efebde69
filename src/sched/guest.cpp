#include "sched/guest.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/kernel.hpp"
#include "base/pause.hpp"
#include "sched/scheduler.hpp"
#include "sched/worker.hpp"

namespace weft {
namespace {

// A thread that waits looks so often, gives its core up so often, and then rests: ever longer, since many
// threads of many ranks may wait on few cores.
constexpr unsigned helm_spins_max = 64;
constexpr unsigned helm_yields_max = 32;
constexpr unsigned helm_rest_us_min = 20, helm_rest_us_max = 500;
constexpr unsigned rests_of_one_length = 8;

// Whoever has what this thread waits for may need its core, and may need it for long.
void rest_from(unsigned round) noexcept {
  if (round < helm_spins_max)
    pause_processor();
  else if (round < helm_spins_max + helm_yields_max)
    give_core_up();
  else
    sleep_in_kernel(std::chrono::microseconds(
        std::min(helm_rest_us_max,
                 helm_rest_us_min << std::min(
                     (round - helm_spins_max - helm_yields_max) / rests_of_one_length, 16u))));
}

}  // namespace

constexpr unsigned courtesy_rounds_max = helm_spins_max + 4;

void helm::take() noexcept {
  who_.take_after_others(this_thread(), rest_from, courtesy_rounds_max);
}

void helm::offer() noexcept {
  who_.offer(this_thread(), rest_from, courtesy_rounds_max);
}

guest::guest(const thread_origin& from) : from_(from), of_(*from.home) {
  of_.helm_->take();
  install();
}

guest::~guest() {
  // What the worker armed before it fell asleep, to be rung by other processes, this guest's looks may
  // have used up.
  if (of_.asleep_for_ != nullptr && of_.outside_ != nullptr) of_.notify();
  remove();
  of_.helm_->give();
  from_.way_in->leave();
}

void guest::install() noexcept {
  worker::current_worker_ = &of_;
  worker::caller_ = worker::chunk_depth_ == 0 ? from_.identity : nullptr;
  of_.guest_ = this;
  of_.short_ways_left_ = 0;  // Its waits never switch to a fiber.
}

void guest::remove() noexcept {
  of_.guest_ = nullptr;
  worker::current_worker_ = nullptr;
  worker::caller_ = nullptr;
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

namespace {

constinit const thread_origin no_origin;
// A pointer, since the first use of what has a destructor takes memory, which the thread that a fault
// interrupts may be about to do itself.
thread_local constinit const thread_origin* origin_here = &no_origin;

struct kept_origin {
  thread_origin origin;
  ~kept_origin() { origin_here = &no_origin; }
};

}  // namespace

const thread_origin& origin_of_this_thread() noexcept {
  return *origin_here;
}

void set_origin_of_this_thread(thread_origin origin) {
  static thread_local constinit kept_origin kept;
  kept.origin = std::move(origin);
  origin_here = &kept.origin;
}

thread_origin origin_of_new_thread() {
  if (const thread_origin& mine = origin_of_this_thread(); mine.identity != nullptr) {
    // The job may have ended.
    if (!mine.way_in->enter()) return mine;
    thread_origin its = mine;
    its.way_in = mine.home->owner().way_in_of_new_thread();
    mine.way_in->leave();
    return its;
  }
  worker* const here = worker::current();
  if (here == nullptr || worker::identity() == nullptr) return {};
  return {
      here, worker::identity(), here->running_number(), {}, here->owner().way_in_of_new_thread()};
}

void worker::share() {
  if (helm_ != nullptr) return;
  helm_ = std::make_unique<helm>();
  undivided_left_ = 0;
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
    if (w.is_over()) return;
    const bool any = poll();
    if (w.may_stop && (unwinding_ || owner_.has_ended())) throw job_stopped{};
    if (w.is_over()) return;
    if (any) round = 0;
    guest_->step_aside(round);
  }
}

}  // namespace weft
