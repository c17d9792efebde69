#include "sched/attached_thread.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/kernel.hpp"
#include "base/pause.hpp"
#include "sched/moving_threads.hpp"
#include "sched/scheduler.hpp"
#include "sched/worker.hpp"

namespace weft {
namespace {

// A thread that waits for the lock looks `spins_max` times, gives its core up `yields_max` times, and then sleeps, each
// time longer: many threads of many ranks may wait on few cores.
constexpr unsigned handoff_lock_spins_max = 64;
constexpr unsigned handoff_lock_yields_max = 32;
constexpr unsigned handoff_lock_rest_us_min = 20, handoff_lock_rest_us_max = 500;
constexpr unsigned rests_of_one_length = 8;
// Urgent fibers that an attached thread runs before it looks again at its own wait.
constexpr int urgent_in_a_row_max = 16;

// The holder of the lock may need this thread's core, perhaps for long.
void rest_from(unsigned round) noexcept {
  if (round < handoff_lock_spins_max)
    pause_processor();
  else if (round < handoff_lock_spins_max + handoff_lock_yields_max)
    give_core_up();
  else
    sleep_in_kernel(std::chrono::microseconds(std::min(
        handoff_lock_rest_us_max,
        handoff_lock_rest_us_min << std::min(
            (round - handoff_lock_spins_max - handoff_lock_yields_max) / rests_of_one_length,
            16u))));
}

}  // namespace

constexpr unsigned courtesy_rounds_max = handoff_lock_spins_max + 4;

void handoff_lock::take() noexcept {
  who_.take_after_others(this_thread(), rest_from, courtesy_rounds_max);
}

void handoff_lock::offer() noexcept {
  who_.offer(this_thread(), rest_from, courtesy_rounds_max);
}

attached_thread::attached_thread(const thread_origin& from)
    : from_(from), of_(*from.home), put_aside_(this_thread_state()) {
  of_.handoff_lock_->take();
  install();
}

attached_thread::~attached_thread() {
  // Before it fell asleep the worker asked to be woken by what comes from other processes. This thread's polls may have
  // used up that wake-up.
  if (of_.asleep_for_ != nullptr && of_.events_ != nullptr) of_.notify();
  remove();
  of_.handoff_lock_->give();
  from_.way_in->leave();
}

void attached_thread::install() noexcept {
  worker::current_worker_ = &of_;
  worker::caller_ = worker::in_chunk() ? nullptr : from_.identity;
  of_.attached_thread_ = this;
  std::swap(of_.thread_, put_aside_);
  of_.fast_waits_left_ = 0;  // Its waits never switch to a fiber from the caller's frame.
}

void attached_thread::remove() noexcept {
  std::swap(of_.thread_, put_aside_);
  of_.attached_thread_ = nullptr;
  worker::current_worker_ = nullptr;
  worker::caller_ = nullptr;
  // Fibers with the program's code run on the worker's own thread only, which may be asleep.
  if (of_.asleep_for_ != nullptr && of_.has_own_work(*of_.asleep_for_)) of_.notify();
}

void attached_thread::yield_lock(unsigned round) {
  remove();
  if (of_.handoff_lock_->is_wanted()) {
    of_.handoff_lock_->offer();
  } else {
    of_.handoff_lock_->give();
    rest_from(round);
    of_.handoff_lock_->take();
  }
  install();
}

bool attached_thread::run_urgent() {
  int left = urgent_in_a_row_max;
  for (; left > 0; --left) {
    fiber* const urgent = of_.take_urgent();
    if (urgent == nullptr) break;
    go_on_with(*urgent);
  }
  return left != urgent_in_a_row_max;
}

// Returns when the urgent fiber waits or ends. Before and after, and for other threads also meanwhile, the fiber of the
// worker's own thread counts as the running one.
void attached_thread::go_on_with(fiber& urgent) {
  fiber& on_own_thread = of_.running();
  fiber self;
  self.identity = worker::caller_;
  self.number = on_own_thread.number;
  self.flow.emplace();
  stand_in_ = &self;
  if (!urgent.flow) of_.prepare(urgent);
  of_.running_ = &urgent;
  worker::caller_ = urgent.identity;
  ++of_.counts_.switches;
  if (tracing() && !urgent.is_idle) [[unlikely]]
    worker::trace_slice(urgent, trace_phase::begin, ticks());
  context::switch_to(*self.flow, *urgent.flow, of_.thread_);
  if (of_.dead_ != nullptr) of_.reclaim();
  of_.running_ = &on_own_thread;
  stand_in_ = nullptr;
}

namespace {

constinit const thread_origin no_origin;
// A pointer: the first use of a thread-local object with a destructor allocates, and the thread that a fault interrupts
// may be inside the allocator.
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
  // What is to be done here is done while it can be.
  while (source_ != nullptr && source_->has_own() && handoff_lock_ == nullptr) yield();
  if (handoff_lock_ != nullptr) return;
  if (place_ != nullptr) moving_threads::stay(*this);
  handoff_lock_ = std::make_unique<handoff_lock>();
  undivided_left_ = 0;
  handoff_lock_->take();
  owner_.note_attached();
}

bool worker::enter_shared() {
  if (handoff_lock_ == nullptr || handoff_lock_->held_here()) return false;
  handoff_lock_->take();
  return true;
}

void worker::leave_shared() noexcept {
  if (handoff_lock_ == nullptr || !handoff_lock_->held_here()) return;
  note_running();
  handoff_lock_->give();
}

// The wait of an attached thread: progress, looks and urgent fibers, but no fibers of ranks, no thefts and no parking.
void worker::block_attached(waiter& w) {
  struct in_wait {
    worker& of;
    attached_thread& who;
    in_wait(worker& home, const waiter& w) : of(home), who(*home.attached_thread_) {
      of.waiting_attached_.push_back(&who);
      who.waiting_in_ = w.description;
      of.owner_.waiting_attached_.fetch_add(1, std::memory_order_relaxed);  // A number is all.
    }
    ~in_wait() {
      of.owner_.waiting_attached_.fetch_sub(1, std::memory_order_relaxed);
      who.waiting_in_ = nullptr;
      std::erase(of.waiting_attached_, &who);
    }
    in_wait(const in_wait&) = delete;
    in_wait& operator=(const in_wait&) = delete;
  } noted(*this, w);
  for (unsigned round = 0;; ++round) {
    if (w.is_over()) return;
    bool any = poll();
    if (w.may_stop && (unwinding_ || owner_.has_ended())) throw job_stopped{};
    if (w.is_over()) return;
    any |= attached_thread_->run_urgent();
    if (w.is_over()) return;
    if (any) round = 0;
    attached_thread_->yield_lock(round);
  }
}

void worker::yield_attached() {
  if (attached_thread_->runs_urgent()) {
    if (unwinding_) throw job_stopped{};
    make_ready(running());
    return switch_to(attached_thread_->stand_in());
  }
  bool any = poll();
  if (unwinding_) throw job_stopped{};
  any |= attached_thread_->run_urgent();
  // As yield() of the worker's own thread does.
  attached_thread_->yield_lock(owner_.spinning_.gives_core_up && !any ? handoff_lock_spins_max : 0);
}

}  // namespace weft
