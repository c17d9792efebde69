// The one wait of the code base, and what a worker does in it: it delivers what has come, runs other
// fibers, steals, and when nothing is left goes to sleep (parking.cpp).
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/kernel.hpp"
#include "base/pause.hpp"
#include "sched/moving_threads.hpp"
#include "sched/scheduler.hpp"
#include "sched/worker.hpp"
#include "trace/trace.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

// Quick looks between two polls. The first round takes about as long as an answer from another core or through shared
// memory. It is left out on a crowded host, where the one who should answer may have no core meanwhile.
constexpr int looks_at_first = 16;
constexpr int looks_at_events_at_first = 48;  // Each takes as long as a look and a rest inside.
constexpr int looks_in_a_round = 8;

// A wait leaves errno as it was, on whichever thread of the worker it ends.
class kept_errno_at_work {
 public:
  explicit kept_errno_at_work(const thread_state& at_work) noexcept
      : at_work_(at_work), before_(*at_work.error_number) {}
  ~kept_errno_at_work() { *at_work_.error_number = before_; }
  kept_errno_at_work(const kept_errno_at_work&) = delete;
  kept_errno_at_work& operator=(const kept_errno_at_work&) = delete;

 private:
  const thread_state& at_work_;
  const int before_;
};

// While it lives, some fiber waits for a time.
class timer {
 public:
  explicit timer(lifetime_count<>& count) : count_(count) { count_.begin(); }
  ~timer() { count_.end(); }
  timer(const timer&) = delete;
  timer& operator=(const timer&) = delete;

 private:
  lifetime_count<>& count_;
};

}  // namespace

fiber* worker::take_ready() noexcept {
  fiber* taken = first_ready();
  if (taken == nullptr) return nullptr;
  std::uint32_t skip = 0;
  if (seeded_) [[unlikely]] {
    std::uint32_t count = 0;
    for (const fiber* f = taken; f != nullptr; f = f->next) ++count;
    skip = next_random() % count;
    tick_seeded();
  }
  if (skip == 0) [[likely]] {
    pop_ready(*taken);
    return taken;
  }
  fiber* previous = nullptr;
  for (; skip > 0; --skip) {
    previous = taken;
    taken = taken->next;
  }
  unlink_ready(*previous, *taken);
  return taken;
}

fiber* worker::take_urgent() noexcept {
  fiber* previous = nullptr;
  for (fiber* f = first_ready(); f != nullptr; previous = std::exchange(f, f->next)) {
    if (!f->is_urgent) continue;
    if (previous == nullptr)
      pop_ready(*f);
    else
      unlink_ready(*previous, *f);
    return f;
  }
  return nullptr;
}

inline void worker::deliver_front(ring& r, int sender, record_header header) {
  owner_.handlers_[header.kind()](*this, header, reinterpret_cast<const std::byte*>(r.payload()));
  drop_front(r, sender, header.word);
}

// Delivers what a peer has sent, up to a limit, or until `w` is over: a look at the next record would then fetch a
// cache line that the peer may be writing, and the waiter's next store would wait for it. It also stops when another
// fiber can run and the next record lies in another line.
inline bool worker::drain(const inbound& from, const waiter* w) {
  ring& r = *from.records;
  int delivered = 0;
  while (delivered < records_delivered_max) {
    const record_header header{r.front()};
    if (header.word == 0) break;
    if (++delivered > 1) r.fetch_ahead();
    deliver_front(r, from.sender, header);
    if (w == nullptr) continue;
    if (w->is_over()) {
      // Several records in a row are a stream, which expects no answer.
      if (delivered == 1) expect_answer(from.sender, header.word);
      break;
    }
    if (has_ready() && r.at_new_line()) break;
  }
  return delivered != 0;
}

// The next of `left` rings that has mail; null: none has. Most of many are empty, so that a look at one is a few instructions.
inline const worker::inbound* worker::next_with_mail(std::size_t& left) noexcept {
  const inbound* const all = inbound_.data();
  const std::size_t count = inbound_.size();
  std::size_t at = next_ring_;
  const inbound* found = nullptr;
  while (found == nullptr && left > 0) {
    --left;
    if (++at >= count) at = 0;
    if (!all[at].records->seems_empty()) found = &all[at];
  }
  next_ring_ = at;
  return found;
}

// A quick look at the mail of a few peers and at the condition. Returns whether the wait is over.
inline bool worker::spin_once(const waiter& w) {
  const std::size_t few = std::min<std::size_t>(inbound_.size(), 4);
  for (std::size_t i = 0; i < few; ++i)
    if (drain(inbound_[i], &w) && w.is_over()) return true;
  if (events_ != nullptr && events_->poll_cheap()) return w.is_over();
  if (source_ != nullptr && source_->look()) return w.is_over();
  return w.counter == nullptr && w.is_over();
}

// Delivers the mail of `sender` until `c` has nothing pending: true. False when no mail came, or when other work needs
// a pass.
inline bool worker::take_mail_of(int sender, const completion_counter& c) {
  bool has_delivered = false;
  do {
    ring* const mail = undivided_mail(sender);
    if (mail == nullptr) return false;
    const bool is_ahead = has_delivered && mail->front() != 0;
    const record_header header{look_for_mail(*mail)};
    if (header.word == 0) return false;
    if (c.pending == 1)
      expect_answer(sender, header.word);
    else if (is_ahead)
      mail->fetch_ahead();
    deliver_front(*mail, sender, header);
    has_delivered = true;
  } while (c.pending != 0);
  return true;
}

fiber* worker::poll_on_fast_path(completion_counter& c, int sender) {
  const kept_errno_at_work kept(thread_);
  // A report is given on the slow path, where the fiber says what it waits for.
  if (owner_.interrupts_.hint() != interrupts_seen_) [[unlikely]]
    return nullptr;
  if (place_ != nullptr && attached_thread_ == nullptr && moving_threads::is_wanted(*this))
      [[unlikely]]
    return nullptr;
  if (fast_waits_from_now() > 0 && !in_chunk() && !(sender >= 0 && take_mail_of(sender, c))) {
    const waiter w{nullptr, nullptr, nullptr, &c};
    poll(&w);
  }
  fast_waits_left_ = fast_waits_from_now();
  // Ranks that are ready again and again must not starve tasks.
  if (source_ != nullptr && source_->has_own()) [[unlikely]] {
    source_first_ = true;
    return nullptr;
  }
  return fast_waits_left_ > 0 ? first_ready() : nullptr;
}

// What a wait that may switch goes on with: a fiber that is ready, or work of this worker's own.
fiber* worker::take_next() {
  const bool has_source = source_ != nullptr && handoff_lock_ == nullptr;
  if (has_source) [[unlikely]] {
    const bool is_first = std::exchange(source_first_, false) ||
                          (seeded_ && source_->has_own() && next_random() % 2 == 0);
    if (is_first)
      if (fiber* next = source_->take_own(); next != nullptr) return next;
  }
  if (fiber* next = take_ready(); next != nullptr) return next;
  return has_source ? source_->take_own() : nullptr;
}

void worker::wait_to_the_end(completion_counter& c, const wait_description& description) {
  if (c.pending == 0) return;
  fast_waits_left_ = fast_waits_from_now();
  waiter w{nullptr, nullptr, &description, &c};
  w.may_stop = false;
  block(w);
}

// Switches to `next`. The completion counter, or the worker's look at the condition, makes the suspended fiber ready
// again. The root is in no list: it goes on when a fiber ends.
[[gnu::always_inline]] inline void worker::suspend(waiter& w, fiber& next) {
  fiber& self = running();
  if (!next.flow) prepare(next);
  if (&self != &root_) {
    if (w.counter != nullptr)
      w.counter->add(self);
    else
      looked_at_.push_back({&w, &self});
  }
  switch_to(next);
}

void worker::block(waiter& w) {
  const kept_errno_at_work kept(thread_);
  if (attached_thread_ != nullptr && !attached_thread_->runs_urgent()) [[unlikely]]
    return block_attached(w);
  if (in_chunk() && w.may_switch)
    throw error(std::string("a chunk of a loop called ") + w.description->call +
                ", which would wait on the stack of whoever runs the chunk: communicate before or "
                "after the loop");
  fiber& self = running();
  const bool is_root = &self == &root_;
  // Without memory for the fiber of a task the source throws, and keeps the task. A wait that the job's stop does not end
  // goes on then: others use memory of its fiber until it is over. The root has no frames of the program.
  bool is_short_of_memory = false;
  const auto take_work = [&, may_throw = w.may_stop || is_root](const auto& take) -> fiber* {
    try {
      return take();
    } catch (const error&) {
      if (may_throw) throw;
      is_short_of_memory = true;
      return nullptr;
    }
  };
  // Whether take_next() would find something. The mail may have become a task, for which no fiber is ready.
  const auto has_next = [&] {
    return has_ready() || (source_ != nullptr && handoff_lock_ == nullptr && !is_short_of_memory &&
                           source_->has_own());
  };
  if (watched_ && !is_root) [[unlikely]]
    owner_.watcher_(*this, *w.description);
  const struct in_wait {
    fiber& f;
    // A wait inside a wait: in the outer one this fiber stole a chunk, and the chunk waits for its own loop now.
    const wait_description* const outer = f.waiting_in;
    completion_counter* const outer_waits_for = f.waits_for;
    in_wait(fiber& waiting, const waiter& w) : f(waiting) {
      f.waiting_in = w.description;
      f.waits_for = w.counter;
      if (tracing()) [[unlikely]]
        trace_wait_of(f, f.waiting_in);
    }
    ~in_wait() {
      f.waiting_in = outer;
      f.waits_for = outer_waits_for;
      if (tracing()) [[unlikely]]
        trace_wait_of(f, outer);
    }
  } marked(self, w);
  // Between two polls so many waits for conditions go on with a fiber that is ready at once, as those on the fast path do.
  // A poll for each of them would look at the conditions of all others each time.
  const auto goes_to_ready_fiber = [&] {
    return w.counter == nullptr && w.may_switch && has_ready() && --fast_waits_left_ > 0;
  };
  std::uint32_t idle_rounds = 0;
  std::uint64_t idle_since = 0;
  bool has_looked = false;
  bool has_slept = false;
  for (;;) {
    // It may throw what stops the job.
    if (self.is_called && w.may_stop) [[unlikely]]
      hooks.answer(self);
    if (w.is_over()) return;
    if (place_ != nullptr && w.may_switch && attached_thread_ == nullptr &&
        moving_threads::is_wanted(*this)) [[unlikely]] {
      (void)owner_.moving_->rest(*this, &w, true);
      if (w.is_over()) return;
    }
    // This is an urgent fiber on an attached thread. It gives the thread back; any thread of the worker may resume it.
    if (attached_thread_ != nullptr) [[unlikely]] {
      if (unwinding_ && w.may_stop) throw job_stopped{};
      suspend(w, attached_thread_->stand_in());
      continue;
    }
    bool any = false;
    if (!std::exchange(has_looked, false) && !goes_to_ready_fiber()) {
      any = poll(w.counter != nullptr ? &w : nullptr);
      if (w.counter == nullptr) fast_waits_left_ = fast_waits_from_now();
    }
    // Right after the poll that began the unwinding: it released the other fibers, not this one, so
    // this one must not suspend itself again.
    if (unwinding_ && w.may_stop) [[unlikely]]
      throw job_stopped{};
    if (any) {
      idle_rounds = 0;
      has_slept = false;
      if (w.is_over()) return;
      // Mail that keeps coming must not starve the others, nor the tasks that it becomes.
      if (!has_ready() && !(w.may_switch && has_next())) continue;
    }
    // With a seed, perturb_seeded() wakes waiting fibers to act as thieves. Relaxed: only this worker writes it.
    if (seeded_ && open_slots_.load(std::memory_order_relaxed) != 0 && w.may_steal &&
        !stop_acknowledged_ && next_random() % 2 == 0 && steal(w.victim)) [[unlikely]]
      continue;
    if (w.may_switch) {
      if (fiber* next = take_work([this] { return take_next(); }); next != nullptr) {
        suspend(w, *next);
        if (is_root && dead_ != nullptr) reclaim();
        idle_rounds = 0;
        continue;
      }
    }
    // Having acknowledged the stop, a worker begins nothing that reads the memory of other ranks.
    if (w.may_steal && !stop_acknowledged_) {
      if (steal(w.victim)) {
        idle_rounds = 0;
        continue;
      }
      if (source_ != nullptr && w.may_switch && handoff_lock_ == nullptr) {
        if (fiber* next = take_work([this] { return source_->take_others(); }); next != nullptr) {
          suspend(w, *next);
          if (is_root && dead_ != nullptr) reclaim();
          idle_rounds = 0;
          continue;
        }
      }
    }
    if (seeded_ && seeded_clock_.advance(now_ns())) [[unlikely]]
      continue;
    // What it waits for may be another worker's of this thread to do.
    if (place_ != nullptr) [[unlikely]] {
      using rested = moving_threads::rested;
      const rested now_is = owner_.moving_->rest(*this, &w, idle_rounds == 0, has_slept);
      if (now_is == rested::is_to_park && !looks_before_parking(w)) {
        park(w);
        has_slept = true;
      }
      if (now_is != rested::alone) {
        idle_rounds = 0;
        continue;
      }
    }
    // Quick looks. In the first round, when something is most likely to come, a short rest lies between two looks, or
    // none when each look also goes to other processes. In later rounds a pause instruction comes before each look.
    const spinning& how = owner_.spinning_;
    const bool is_soon = idle_rounds == 0 && !how.gives_core_up;
    const int at_first = events_ == nullptr ? looks_at_first : looks_at_events_at_first;
    // What has come runs before the next poll, which takes a system call where the network is one of the kernel's.
    for (int left = is_soon ? at_first : looks_in_a_round; left > 0; --left) {
      if (!is_soon)
        pause_processor();
      else if (events_ == nullptr)
        rest_between_looks();
      if (spin_once(w)) return;
      if (w.may_switch ? has_next() : has_ready()) {
        has_looked = w.may_switch;
        break;
      }
    }
    if (handoff_lock_ != nullptr) [[unlikely]] {
      note_running();
      handoff_lock_->offer();
    }
    if (has_looked) continue;
    if (how.gives_core_up && place_ == nullptr) [[unlikely]]
      give_core_up();
    if (++idle_rounds % how.rounds_per_clock != 0) continue;
    if (tracing()) [[unlikely]]
      note_free();
    const std::uint64_t now = now_ns();
    if (idle_rounds == how.rounds_per_clock) idle_since = now;
    const std::uint64_t spun_ns = now - idle_since;
    if (!spin_limit_.is_reached(spun_ns, now, has_slept, forced_switches_of_this_thread)) continue;
    spin_limit_.note_vain(spun_ns, now);
    park(w);
    if (!std::exchange(has_slept, true)) spin_limit_.note_waited(now_ns() - idle_since);
    idle_rounds = 0;
  }
}

bool worker::looks_before_parking(waiter& w) {
  for (int left = looks_in_a_round; left > 0; --left)
    if (poll(w.counter != nullptr ? &w : nullptr) || has_ready() || w.is_over()) return true;
  return false;
}

void worker::yield() {
  const kept_errno_at_work kept(thread_);
  if (attached_thread_ != nullptr) [[unlikely]]
    return yield_attached();
  const bool any = poll();
  if (in_chunk()) return;
  if (unwinding_) [[unlikely]]
    throw job_stopped{};
  // So would those that wait for what another worker of this thread does. Relaxed, as below.
  if (place_ != nullptr && (!has_ready() || passes_.load(std::memory_order_relaxed) % 4 == 1))
      [[unlikely]]
    (void)owner_.moving_->rest(*this, nullptr, any);
  // Fibers that yield again and again are always ready and would starve the source. Relaxed: only this worker writes
  // it.
  if (passes_.load(std::memory_order_relaxed) % 4 == 0) source_first_ = true;
  fiber* next = take_next();
  if (next == nullptr && source_ != nullptr && handoff_lock_ == nullptr && !stop_acknowledged_)
    next = source_->take_others();
  if (next != nullptr) {
    static constexpr wait_description yielding{"yield"};
    if (watched_ && &running() != &root_) [[unlikely]]
      owner_.watcher_(*this, yielding);
    if (!next->flow) prepare(*next);
    make_ready(running());
    switch_to(*next);
  } else if (seeded_) [[unlikely]] {
    tick_seeded();
  } else if (owner_.spinning_.gives_core_up && !any && place_ == nullptr) [[unlikely]] {
    // A rank that asks again and again for a message holds the core that the sender may need.
    give_core_up();
  }
}

void worker::begin_call_on_slow_path() {
  perturb();
  check_stopped();
}

void worker::perturb_seeded() {
  if (attached_thread_ != nullptr || next_random() % 2 != 0) return;
  // A seeded schedule has one worker, whose waiting fibers are the thieves; they steal only when they run. Relaxed:
  // only this worker writes it.
  if (open_slots_.load(std::memory_order_relaxed) != 0) {
    std::vector<completion_counter*> waited_for;
    each_fiber([&](fiber& f) {
      if (f.waits_for != nullptr && f.waits_for->last == &f) waited_for.push_back(f.waits_for);
    });
    if (!waited_for.empty()) release(*waited_for[next_random() % waited_for.size()]);
  }
  yield();
}

void worker::tick_seeded() noexcept {
  const std::uint64_t deadline_ns = seeded_clock_.tick();
  // Not all at once: the job may stop meanwhile.
  constexpr std::uint64_t slice_ns = 1'000'000;
  for (std::uint64_t now; (now = now_ns()) < deadline_ns && !owner_.stopping();)
    sleep_in_kernel(std::chrono::nanoseconds(std::min(deadline_ns - now, slice_ns)));
}

void worker::block_as_timer(waiter& w) {
  const timer counted(owner_.timers_);
  if (!w.is_over()) block(w);
}

void worker::sleep(std::uint64_t duration_ns, const wait_description& description, bool may_stop) {
  const trace_span traced(trace_kind::sleep, number(), 0, description.call);
  const std::uint64_t deadline_ns = now_ns() + duration_ns;
  const auto sleep_until = [&](bool (*is_past)(const void*) noexcept, const void* subject,
                               std::uint64_t wake_at_ns) {
    waiter w{is_past, subject, &description};
    w.deadline_ns = wake_at_ns;
    w.may_stop = may_stop;
    w.may_act = false;
    block_as_timer(w);
  };
  if (seeded_ && attached_thread_ == nullptr) [[unlikely]] {
    // No deadline of the wait's own: park() takes the time of the first alarm from the seeded clock.
    const seeded_clock::alarm alarm(seeded_clock_, duration_ns, deadline_ns);
    sleep_until(
        [](const void* subject) noexcept {
          return static_cast<const seeded_clock::alarm*>(subject)->is_due();
        },
        &alarm, 0);
  } else {
    sleep_until(
        [](const void* subject) noexcept {
          return now_ns() >= *static_cast<const std::uint64_t*>(subject);
        },
        &deadline_ns, deadline_ns);
  }
}

// --- Progress ------------------------------------------------------------------------------------

bool worker::poll(const waiter* w) {
  // Relaxed: only the monitor reads it, and compares it with its last look. Passes of an attached thread do not count:
  // they say nothing about the worker's own thread.
  passes_.store(passes_.load(std::memory_order_relaxed) + (attached_thread_ == nullptr ? 1 : 0),
                std::memory_order_relaxed);
  // The value alone: handle_interrupts() looks again.
  if (owner_.interrupts_.hint() != interrupts_seen_) [[unlikely]]
    handle_interrupts();
  undivided_left_ = undivided_from_now();
  bool any = false;
  const bool is_idle = !has_ready();
  // A worker with ready fibers looks at a few of its rings in turn; an idle one looks at all.
  std::size_t left = inbound_.size();
  if (!is_idle) left = std::min(left, rings_polled_max);
  while (const inbound* const from = next_with_mail(left)) {
    any |= drain(*from, w);
    if (w != nullptr && w->is_over()) break;
  }
  if (!looked_at_.empty()) any |= look();
  if (source_ != nullptr) [[unlikely]]
    any |= source_->look();
  if (rare_sources_ != 0) [[unlikely]]
    any |= poll_rare();
  // fast_waits_ learns from polls beside other work alone: an idle worker polls anyway.
  if (!is_idle) fast_waits_ = any ? fast_waits_min : std::min(2 * fast_waits_, fast_waits_max);
  return any;
}

inline int worker::undivided_from_now() const noexcept {
  if (inbound_.empty() || rare_sources_ != 0 || handoff_lock_ != nullptr || needs_slow_path_ ||
      watched_ || owner_.spinning_.gives_core_up)
    return 0;
  return awaits_one_mailbox() ? undivided_in_a_row_max : undivided_beside_others_max;
}

bool worker::poll_rare() {
  bool any = events_ != nullptr && events_->poll();
  if (!posted_.empty()) any |= flush_posted();
  if (!detached_.empty()) any |= end_detached();
  return any;
}

bool worker::look() noexcept {
  bool any = false;
  std::size_t left = std::min(looked_at_.size(), looks_max);
  // How often a look finds nothing depends on the machine. With a seed each look goes through all.
  if (seeded_) [[unlikely]]
    next_look_ = left = looked_at_.size();
  for (; left > 0; --left) {
    if (++next_look_ >= looked_at_.size()) next_look_ = 0;
    const looked_at at = looked_at_[next_look_];
    if (!at.w->is_over()) continue;
    looked_at_[next_look_] = looked_at_.back();
    looked_at_.pop_back();
    make_ready(*at.f);
    any = true;
    if (looked_at_.empty()) break;
  }
  return any;
}

}  // namespace weft
