// A worker that has found nothing for long sleeps in the kernel until somebody brings work.
// docs/protocols/parking.md.
#include <algorithm>

#include "base/clock.hpp"
#include "sched/moving_threads.hpp"
#include "sched/scheduler.hpp"
#include "sched/worker.hpp"
#include "trace/trace.hpp"

namespace weft {

bool worker::has_own_work(const waiter& w) noexcept {
  return w.is_over() || has_ready() || !posted_.empty() || (unwinding_ && w.may_stop);
}

bool worker::has_work(const waiter& w) noexcept {
  if (has_own_work(w) || has_arrivals(w)) return true;
  for (const looked_at& at : looked_at_)
    if (at.w->is_over()) return true;
  return events_ != nullptr && (events_->busy() || !events_->arm());
}

bool worker::has_work_seen(const waiter& w) noexcept {
  if (w.is_seen_over() || has_ready() || !posted_.empty() || (unwinding_ && w.may_stop) ||
      has_arrivals(w))
    return true;
  return std::ranges::any_of(looked_at_, [](const looked_at& at) { return at.w->is_seen_over(); });
}

bool worker::needs_own_thread(const waiter* w) const noexcept {
  return (w != nullptr && w->needs_own_thread()) ||
         std::ranges::any_of(looked_at_,
                             [](const looked_at& at) { return at.w->needs_own_thread(); });
}

bool worker::has_arrivals(const waiter& w) noexcept {
  if (source_ != nullptr && (source_->has_arrivals() || (w.may_switch && source_->has_own())))
    return true;
  if (owner_.interrupts_.hint() != interrupts_seen_) return true;
  for (const inbound& from : inbound_)
    if (from.records->front() != 0) return true;
  for (const detached_loop& d : detached_)
    if (slots_[d.slot].claims.finished()) return true;
  return false;
}

parked_count<>::outcome worker::try_park(const waiter& w) {
  // Relaxed: a hint. Having acknowledged a stop, a worker steals nothing.
  may_steal_when_woken_.store(w.may_steal && !stop_acknowledged_, std::memory_order_relaxed);
  if (watching_ != 0 && memory_watch_ != nullptr) memory_watch_->arm();
  return owner_.parked_.park(spot_, [&] { return has_work(w); });
}

// Called by the worker that has parked last.
quiescence_observer::answer worker::look_when_quiescent(const quiescence_look& before,
                                                        const waiter& w) {
  using answer = quiescence_observer::answer;
  if (owner_.has_ended() || owner_.stopping()) return answer::sleep;
  // A thread or timer that still exists wakes a worker; after its end the monitor does.
  if (!owner_.none_since(before))
    return owner_.none_since(owner_.look_before_parking()) ? answer::look_again : answer::sleep;
  if (has_work(w)) return answer::look_again;
  return owner_.quiescence_observer_ != nullptr ? owner_.quiescence_observer_->look(*this)
                                                : answer::sleep;
}

void worker::park(waiter& w) {
  using outcome = parked_count<>::outcome;
  // Whichever way this returns, neither the event source nor writers of memory need to wake this worker any more.
  struct awake_again {
    event_source* of;
    memory_watch<>* watch;
    ~awake_again() {
      if (of != nullptr) of->disarm();
      if (watch != nullptr) watch->disarm();
    }
  } const guard{events_, memory_watch_};
  // Before the count: a thread that ends later may have woken a worker after all were parked.
  const quiescence_look before = owner_.look_before_parking();
  if (events_ != nullptr) events_->look_before_parking(owner_.parked_.all_but_one());
  const outcome now_is = try_park(w);
  if (now_is == outcome::awake) return;
  if (now_is == outcome::last) {
    using answer = quiescence_observer::answer;
    if (const answer next = look_when_quiescent(before, w); next != answer::sleep) {
      owner_.parked_.leave(spot_);
      if (events_ != nullptr) events_->disarm();
      if (next == answer::tell) owner_.quiescence_observer_->tell(*this);
      return;
    }
  }
  std::uint64_t deadline = w.deadline_ns;
  for (const looked_at& at : looked_at_)
    if (at.w->deadline_ns != 0)
      deadline = deadline == 0 ? at.w->deadline_ns : std::min(deadline, at.w->deadline_ns);
  if (seeded_) [[unlikely]]
    if (const std::uint64_t alarm = seeded_clock_.next_deadline_ns(); alarm != 0)
      deadline = deadline == 0 ? alarm : std::min(deadline, alarm);
  std::int64_t timeout = -1;
  if (deadline != 0) {
    const std::uint64_t now = now_ns();
    timeout = deadline > now ? static_cast<std::int64_t>(deadline - now) : 0;
  }
  if (events_ != nullptr)
    if (const std::int64_t most = events_->sleep_ns_max(); most >= 0)
      timeout = timeout < 0 ? most : std::min(timeout, most);
  ++counts_.parks;
  const trace_span traced(trace_kind::park, -1);
  if (handoff_lock_ == nullptr) [[likely]]
    return sleep(timeout);
  asleep_for_ = &w;
  note_running();
  handoff_lock_->give();
  sleep(timeout);
  handoff_lock_->take();
  asleep_for_ = nullptr;
}

bool worker::wake_to_steal(int victim) noexcept {
  if (!is_parked() || !may_steal_when_woken_.load(std::memory_order_relaxed)) return false;
  called_by_.store(victim, std::memory_order_relaxed);  // Relaxed: the wake-up carries it.
  return owner_.parked_.wake_if_parked(spot_);
}

// Returns when somebody wakes this worker, the event source rings, or the time is over.
void worker::sleep(std::int64_t timeout_ns) {
  // In a chunk it keeps its thread: frames of another rank lie on its stack.
  if (place_ != nullptr && !in_chunk()) [[unlikely]]
    return owner_.moving_->sleep(*this, timeout_ns);
  const event_source::bell bell = events_ != nullptr ? events_->ringing() : event_source::bell{};
  for (;;) {
    if (bell.word == nullptr ? spot_.sleep(timeout_ns)
                             : spot_.sleep_beside(*bell.word, bell.value, bell.shared, timeout_ns))
      return;
    // Without a bell or a limit this is a signal or a spurious wake-up.
    if (timeout_ns < 0 && bell.word == nullptr) continue;
    owner_.parked_.leave(spot_);
    return;
  }
}

}  // namespace weft
