#include "sched/worker.hpp"

#include <unistd.h>

#include <mutex>
#include <utility>

#include "base/stack_trace.hpp"
#include "profile/free_cores.hpp"
#include "sched/scheduler.hpp"
#include "trace/trace.hpp"

namespace weft {

namespace {

// Seeds that differ in any bit give states that have nothing in common (splitmix64).
std::uint64_t state_of(std::uint64_t seed) noexcept {
  seed += 0x9e37'79b9'7f4a'7c15;
  seed = (seed ^ (seed >> 30)) * 0xbf58'476d'1ce4'e5b9;
  seed = (seed ^ (seed >> 27)) * 0x94d0'49bb'1331'11eb;
  return (seed ^ (seed >> 31)) | 1;
}

}  // namespace

thread_local constinit worker* worker::current_worker_ = nullptr;
thread_local constinit void* worker::caller_ = nullptr;
thread_local constinit const loop* worker::chunk_of_ = nullptr;
constinit fiber_hooks worker::hooks;

worker::worker(scheduler& owner, int index, int core)
    : owner_(owner),
      index_(index),
      core_(core),
      seeded_(owner.options().seed.has_value()),
      needs_slow_path_(seeded_),
      stacks_(owner.options().stack_bytes),
      outbound_(owner.options().cores.size(), nullptr),
      mail_of_(owner.options().cores.size(), nullptr),
      random_(state_of(owner.options().seed.value_or(0) ^ static_cast<std::uint64_t>(index) << 32)),
      spin_limit_(owner.spinning_.at_least_ns, owner.spinning_.at_most_ns),
      inbound_storage_(owner.options().cores.size()) {
  root_.home = this;
}

worker::~worker() = default;

void worker::spawn(fiber& f) {
  f.stack = stacks_.take();
  f.home = this;
  f.waiting_in = nullptr;
  enlist(f);
  owner_.living_.expect_another();
  make_ready(f);
}

void worker::open_sources(std::vector<std::unique_ptr<work_source>> (*make)(scheduler&)) {
  if (source_ != nullptr) return;
  bool is_first = false;
  {
    const std::lock_guard hold(owner_.lock_);
    is_first = owner_.sources_.empty();
    if (is_first) owner_.sources_ = make(owner_);
    source_ = owner_.sources_[static_cast<std::size_t>(index_)].get();
  }
  if (is_first) owner_.interrupt_workers();
}

void worker::adopt(fiber& f) {
  f.stack = stacks_.take();
  f.home = this;
  f.waiting_in = nullptr;
  prepare(f);
}

void worker::enlist(fiber& f) noexcept {
  f.older = newest();
  f.newer = nullptr;
  set_newer(f.older, &f);
  set_older(nullptr, &f);
}

void worker::dismiss(fiber& f) noexcept {
  set_newer(f.older, f.newer);
  set_older(f.newer, f.older);
}

// The root, which is in no list, is there to go on whenever another fiber runs.
void worker::retire() noexcept {
  fiber* next = take_ready();
  if (next == nullptr) next = &root_;
  if (!next->flow) prepare(*next);
  switch_to(*next);
}

void worker::wake_thief(int owner) noexcept {
  if (!owner_.any_parked()) return;
  const std::uint64_t now = ticks();
  if (now - thief_woken_ < long_loop_ticks_) return;
  thief_woken_ = now;
  owner_.wake_thieves(owner, 1);
}

void worker::prepare(fiber& f) {
  f.flow.emplace(f.stack, &worker::fiber_main, &f);
}

void worker::fiber_main(void* argument) {
  auto& self = *static_cast<fiber*>(argument);
  self.body(self.argument);
  self.home->finish(self);
}

std::size_t worker::calls_of(fiber& f, std::span<std::uintptr_t> calls) noexcept {
  if (&f == running_) return capture_calls(calls);
  if (!f.flow || f.flow->unused(f.stack) < stack_trace_bytes) return 0;
  struct order {
    std::span<std::uintptr_t> calls;
    std::size_t count;
  } it{calls, 0};
  context::visit(
      *running_->flow, *f.flow,
      [](void* argument) {
        auto& o = *static_cast<order*>(argument);
        o.count = capture_calls(o.calls);
      },
      &it);
  return it.count;
}

namespace {

// An urgent fiber goes on beside its rank's own code. One of no rank runs tasks.
trace_kind kind_of_slice(const fiber& f) noexcept {
  if (f.number >= 0) return trace_kind::run;
  return f.is_urgent ? trace_kind::beside : trace_kind::task;
}
}  // namespace

// An attached thread's own flow, which has no home, is no slice of a timeline.
void worker::trace_slice(const fiber& f, trace_phase phase, std::uint64_t now) noexcept {
  if (f.home == nullptr || &f == &f.home->root_) return;
  record_trace_event(phase, kind_of_slice(f), f.number, 0, 0, nullptr, now);
}

void worker::note_free() noexcept {
  if (!std::exchange(is_free_, true)) profile::begin_free_core();
}

void worker::note_busy() noexcept {
  if (std::exchange(is_free_, false)) profile::end_free_core();
}

void worker::trace_switch(const fiber& from, const fiber& to) noexcept {
  if (from.home != nullptr) from.home->note_busy();
  const std::uint64_t now = ticks();
  if (!from.is_idle) trace_slice(from, trace_phase::end, now);
  if (!to.is_idle) trace_slice(to, trace_phase::begin, now);
}

// A fiber that is no rank's own does nothing while it waits, although its worker looks for work on its stack. Ranks say
// themselves when they wait.
void worker::trace_wait_of(fiber& f, const wait_description* in) noexcept {
  if (f.home != nullptr) f.home->note_busy();
  const bool is_idle = f.number < 0 && in != nullptr && !in->ends_by_itself;
  if (std::exchange(f.is_idle, is_idle) != is_idle)
    trace_slice(f, is_idle ? trace_phase::end : trace_phase::begin, ticks());
}

// The root, or an attached thread, frees what a fiber leaves behind: nobody can free the stack that it stands on.
void worker::finish(fiber& self) noexcept {
  dismiss(self);
  *thread_.exceptions = {};  // Of a program that has left its handlers by a jump.
  dead_ = &self;
  fiber& next = attached_thread_ == nullptr ? root_ : attached_thread_->stand_in();
  running_ = &next;
  running_number_.store(next.number, std::memory_order_relaxed);
  caller_ = next.identity;
  if (tracing()) [[unlikely]]
    trace_switch(self, next);
  if (self.is_apart) [[unlikely]]
    hooks.change(next);
  context::leave_to(*self.flow, *next.flow);
}

void worker::reclaim() noexcept {
  fiber& f = *std::exchange(dead_, nullptr);
  f.flow.reset();
  stacks_.give_back(f.stack);
  void (*const gone)(fiber&) = f.reclaimed;
  if (gone != nullptr) gone(f);
  owner_.count_out();
}

// What the root does: it waits, as fibers do, until all fibers of the job have ended.
void worker::run_root() {
  static constexpr wait_description idle{"idle"};
  waiter end{[](const void* subject) noexcept {
               return static_cast<const scheduler*>(subject)->living_.all_arrived();
             },
             &owner_, &idle};
  end.may_stop = end.may_act = false;
  if (!end.is_over()) block(end);
  leave_shared();
}

void worker::run() {
  current_worker_ = this;
  thread_number_.store(gettid(), std::memory_order_relaxed);  // Relaxed: a number, no more.
  thread_ = this_thread_state();
  if (tracing()) needs_slow_path_ = true;
  root_.flow.emplace();
  running_ = &root_;
  run_root();
  root_.flow.reset();
  thread_number_.store(0, std::memory_order_relaxed);
  current_worker_ = nullptr;
}

}  // namespace weft
