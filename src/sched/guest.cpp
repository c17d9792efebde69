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
// Before a guest looks at what it waits for itself.
constexpr int errands_in_a_row_max = 16;

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

guest::guest(const thread_origin& from)
    : from_(from), of_(*from.home), put_aside_(this_thread_state()) {
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
  worker::caller_ = worker::in_chunk() ? nullptr : from_.identity;
  of_.guest_ = this;
  std::swap(of_.thread_, put_aside_);
  of_.short_ways_left_ = 0;  // Its waits never switch to a fiber from the caller's frame.
}

void guest::remove() noexcept {
  std::swap(of_.thread_, put_aside_);
  of_.guest_ = nullptr;
  worker::current_worker_ = nullptr;
  worker::caller_ = nullptr;
  // Fibers with the program's code run on the worker's own thread only, which may be asleep.
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

bool guest::run_errands() {
  int left = errands_in_a_row_max;
  for (; left > 0; --left) {
    fiber* const errand = of_.take_errand();
    if (errand == nullptr) break;
    go_on_with(*errand);
  }
  return left != errands_in_a_row_max;
}

// Until the errand waits or ends. What runs on the worker's own thread counts as running before and
// after, and for other threads meanwhile.
void guest::go_on_with(fiber& errand) {
  fiber& on_own_thread = of_.running();
  fiber self;
  self.identity = worker::caller_;
  self.number = on_own_thread.number;
  self.flow.emplace();
  stand_in_ = &self;
  if (!errand.flow) of_.prepare(errand);
  of_.running_ = &errand;
  worker::caller_ = errand.identity;
  ++of_.counts_.switches;
  context::switch_to(*self.flow, *errand.flow, of_.thread_);
  if (of_.dead_ != nullptr) of_.reclaim();
  of_.running_ = &on_own_thread;
  stand_in_ = nullptr;
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
  return {here, worker::identity(), here->number(), {}, here->owner().way_in_of_new_thread()};
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
  if (helm_ == nullptr || !helm_->held_here()) return;
  note_running();
  helm_->give();
}

// The wait of a guest: progress, looks and errands, but no fibers of ranks, no thefts and no parking.
void worker::block_guest(waiter& w) {
  struct in_wait {
    worker& of;
    guest& who;
    in_wait(worker& home, const waiter& w) : of(home), who(*home.guest_) {
      of.waiting_guests_.push_back(&who);
      who.waiting_in_ = w.description;
      of.owner_.waiting_guests_.fetch_add(1, std::memory_order_relaxed);  // A number is all.
    }
    ~in_wait() {
      of.owner_.waiting_guests_.fetch_sub(1, std::memory_order_relaxed);
      who.waiting_in_ = nullptr;
      std::erase(of.waiting_guests_, &who);
    }
    in_wait(const in_wait&) = delete;
    in_wait& operator=(const in_wait&) = delete;
  } noted(*this, w);
  for (unsigned round = 0;; ++round) {
    if (w.is_over()) return;
    bool any = poll();
    if (w.may_stop && (unwinding_ || owner_.has_ended())) throw job_stopped{};
    if (w.is_over()) return;
    any |= guest_->run_errands();
    if (w.is_over()) return;
    if (any) round = 0;
    guest_->step_aside(round);
  }
}

void worker::yield_guest() {
  if (guest_->runs_errand()) {
    if (unwinding_) throw job_stopped{};
    make_ready(running());
    return switch_to(guest_->stand_in());
  }
  bool any = poll();
  if (unwinding_) throw job_stopped{};
  any |= guest_->run_errands();
  // As yield() of the worker's own thread does.
  guest_->step_aside(owner_.looking_.gives_core_up && !any ? helm_spins_max : 0);
}

}  // namespace weft
