#include "sched/worker.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/kernel.hpp"
#include "base/pause.hpp"
#include "base/stack_trace.hpp"
#include "sched/scheduler.hpp"
#include "trace/trace.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

// A worker that gives its core away while it looks may look longer before it sleeps, which would cost
// it more; but not for as long as the core is given to programs that have nothing to do with it.
constexpr std::uint64_t crowded_spins = 16;

}  // namespace

thread_local constinit worker* worker::current_worker_ = nullptr;
thread_local constinit void* worker::identity_ = nullptr;
thread_local constinit int worker::chunk_depth_ = 0;

worker::worker(scheduler& owner, int index, int core)
    : owner_(owner),
      index_(index),
      core_(core),
      seeded_(owner.options().seed.has_value()),
      stacks_(owner.options().stack_bytes),
      outbound_(owner.options().cores.size(), nullptr),
      random_((static_cast<std::uint32_t>(owner.options().seed.value_or(0)) * 2654435761u +
               static_cast<std::uint32_t>(index) * 40503u) | 1u),
      inbound_storage_(owner.options().cores.size()) {
  root_.home = this;
}

worker::~worker() = default;

// --- Fibers --------------------------------------------------------------------------------------

void worker::spawn(fiber& f) {
  f.stack = stacks_.take();
  f.home = this;
  f.waiting_in = nullptr;
  f.older = newest_;
  f.newer = nullptr;
  (newest_ != nullptr ? newest_->newer : oldest_) = &f;
  newest_ = &f;
  owner_.living_.expect_another();
  make_ready(f);
}

fiber* worker::take_ready() noexcept {
  fiber* taken = ready_head_;
  if (taken == nullptr) return nullptr;
  if (!seeded_) [[likely]] {
    pop_ready();
    return taken;
  }
  fiber* previous = nullptr;
  for (auto skip = next_random() % static_cast<std::uint32_t>(ready_count()); skip > 0; --skip) {
    previous = taken;
    taken = taken->next;
  }
  (previous != nullptr ? previous->next : ready_head_) = taken->next;
  if (taken == ready_tail_) ready_tail_ = previous;
  count_ready(-1);
  return taken;
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

void worker::trace_switch(const fiber& from, const fiber& to) noexcept {
  if (from.number >= 0) trace_end(trace_kind::run, from.number);
  if (to.number >= 0) trace_begin(trace_kind::run, to.number);
}

// The root frees what a fiber leaves behind: nobody can free the stack that it stands on.
void worker::finish(fiber& self) noexcept {
  (self.older != nullptr ? self.older->newer : oldest_) = self.newer;
  (self.newer != nullptr ? self.newer->older : newest_) = self.older;
  dead_ = &self;
  running_ = &root_;
  running_number_.store(-1, std::memory_order_relaxed);
  identity_ = nullptr;
  if (tracing()) [[unlikely]] trace_switch(self, root_);
  context::leave_to(*self.flow, *root_.flow);
}

void worker::reclaim() noexcept {
  fiber& f = *std::exchange(dead_, nullptr);
  f.flow.reset();
  stacks_.give_back(f.stack);
  void (*const gone)(fiber&) = f.reclaimed;
  if (gone != nullptr) gone(f);
  owner_.count_out();
}

void worker::run() {
  current_worker_ = this;
  thread_number_.store(gettid(), std::memory_order_relaxed);  // Relaxed: a number, no more.
  thread_ = this_thread_state();
  root_.flow.emplace();
  running_ = &root_;
  static constexpr wait_description idle{"idle"};
  waiter end{[](const void* subject) noexcept {
               return static_cast<const scheduler*>(subject)->living_.all_arrived();
             },
             &owner_, &idle};
  end.may_stop = false;
  if (!end.holds(end.subject)) block(end);
  leave_shared();
  root_.flow.reset();
  thread_number_.store(0, std::memory_order_relaxed);
  current_worker_ = nullptr;
}

// --- The wait ------------------------------------------------------------------------------------

// Delivers what a peer has sent, up to a limit, or until `w` has what it waits for: looking at the
// next record then would fetch a line that the peer may be writing, and the waiter's next store
// would wait for it.
inline bool worker::drain(const inbound& from, const waiter* w) {
  ring& r = *from.records;
  std::uint64_t word = r.front();
  if (word == 0) return false;
  for (int left = records_delivered_max; left > 0 && word != 0; --left) {
    const record_header header = record_header::unpack(word);
    owner_.handlers_[header.kind](*this, header, reinterpret_cast<const std::byte*>(r.payload()));
    if (r.pop(word)) owner_.at(from.sender).notify();  // It may wait for room.
    if (w != nullptr && w->holds(w->subject)) break;
    word = r.front();
  }
  return true;
}

// A quick look at the mail of a few peers and at the condition, which is true when it returns true.
inline bool worker::take_arrival(const waiter& w) {
  const std::size_t few = std::min<std::size_t>(inbound_.size(), 4);
  for (std::size_t i = 0; i < few; ++i)
    if (drain(inbound_[i], &w) && w.holds(w.subject)) return true;
  if (outside_ != nullptr && outside_->glance()) return w.holds(w.subject);
  return w.told == nullptr && w.holds(w.subject);
}

void worker::block(waiter& w) {
  if (guest_ != nullptr) [[unlikely]] return block_guest(w);
  if (chunk_depth_ != 0 && w.may_switch)
    throw error(std::string("a chunk of a loop called ") + w.description->call +
                ", which would wait on the stack of whoever runs the chunk: communicate before or "
                "after the loop");
  fiber& self = running();
  const bool is_root = &self == &root_;
  if (watched_ && !is_root) [[unlikely]] owner_.watcher_(*this, *w.description);
  const struct in_wait {
    fiber& f;
    // Of the wait in which this fiber stole the chunk that waits for its own loop now.
    const wait_description* const outer = f.waiting_in;
    countdown* const outer_told_by = f.told_by;
    in_wait(fiber& waiting, const waiter& w) : f(waiting) {
      f.waiting_in = w.description;
      f.told_by = w.told;
    }
    ~in_wait() {
      f.waiting_in = outer;
      f.told_by = outer_told_by;
    }
  } marked(self, w);
  std::uint32_t idle_rounds = 0;
  std::uint64_t idle_since = 0;
  for (;;) {
    if (w.holds(w.subject)) return;
    const bool any = poll();
    // Right after the poll that began the unwinding: it released the other fibers, not this one, so
    // this one must not suspend itself again.
    if (unwinding_ && w.may_stop) [[unlikely]] throw job_stopped{};
    if (any) {
      idle_rounds = 0;
      if (w.holds(w.subject)) return;
      if (ready_head_ == nullptr) continue;  // Mail that keeps coming must not starve the others.
    }
    if (w.may_switch) {
      if (fiber* next = take_ready(); next != nullptr) {
        suspend(w, *next);
        if (is_root && dead_ != nullptr) reclaim();
        idle_rounds = 0;
        continue;
      }
    }
    // Having acknowledged the stop, a worker begins nothing that reads the memory of other ranks.
    if (w.may_steal && !stop_acknowledged_ && steal(w.victim)) {
      idle_rounds = 0;
      continue;
    }
    // Between two looks at what will most likely come there should be little more than one pause:
    // that is what an arrival waits for.
    for (int quick = 0; quick < 8; ++quick) {
      pause_processor();
      if (take_arrival(w)) return;
      if (ready_head_ != nullptr) break;
    }
    if (helm_ != nullptr) [[unlikely]] helm_->offer();
    // Whoever is to send what this one waits for may need its core; it may be back late.
    const bool crowded = owner_.options().is_crowded;
    if (crowded) [[unlikely]] give_core_up();
    const std::uint32_t rounds_to_look = crowded ? 1 : 16;
    if (++idle_rounds % rounds_to_look != 0) continue;
    const std::uint64_t now = now_ns();
    if (idle_rounds == rounds_to_look) idle_since = now;
    if (now - idle_since < owner_.options().spin_ns * (crowded ? crowded_spins : 1)) continue;
    park(w);
    idle_rounds = 0;
  }
}

// Somebody makes the fiber ready again: the countdown, or a worker's look at the condition. The
// root is in no list: it goes on when a fiber ends.
void worker::suspend(waiter& w, fiber& next) {
  fiber& self = running();
  if (!next.flow) prepare(next);
  if (&self != &root_) {
    if (w.told != nullptr)
      w.told->waiter = &self;
    else
      looked_at_.push_back({&w, &self});
  }
  switch_to(next);
}

void worker::yield() {
  if (guest_ != nullptr) [[unlikely]] {
    poll();
    if (unwinding_) throw job_stopped{};
    return guest_->step_aside(0);
  }
  poll();
  if (chunk_depth_ != 0) return;
  if (unwinding_) [[unlikely]] throw job_stopped{};
  if (fiber* next = take_ready(); next != nullptr) {
    static constexpr wait_description yielding{"yield"};
    if (watched_ && &running() != &root_) [[unlikely]] owner_.watcher_(*this, yielding);
    if (!next->flow) prepare(*next);
    make_ready(running());
    switch_to(*next);
  }
}

void worker::perturb_seeded() {
  if (guest_ == nullptr && next_random() % 2 == 0) yield();
}

void worker::stop_and_wait() noexcept {
  owner_.request_stop();
  static constexpr wait_description end{"the end of the job"};
  wait_until([this] { return unwinding_; }, end, false);
}

void worker::wait_for_the_end() {
  static constexpr wait_description end{"the end of the job"};
  wait_until([] { return false; }, end);
}

void worker::sleep_until(std::uint64_t deadline_ns, const wait_description& description) {
  struct timer {
    std::atomic<std::int64_t>& count;
    // Relaxed: the last worker that parks sees what the others did before they parked.
    explicit timer(std::atomic<std::int64_t>& c) : count(c) {
      count.fetch_add(1, std::memory_order_relaxed);
    }
    ~timer() { count.fetch_sub(1, std::memory_order_relaxed); }
  } counted(owner_.timers_);
  waiter w{[](const void* subject) noexcept {
             return now_ns() >= *static_cast<const std::uint64_t*>(subject);
           },
           &deadline_ns, &description};
  w.deadline_ns = deadline_ns;
  if (!w.holds(w.subject)) block(w);
}

// --- Progress ------------------------------------------------------------------------------------

bool worker::poll() {
  // Relaxed: only the monitor compares it with its last look.
  passes_.store(passes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  // The value alone: attend() looks again.
  if (owner_.attention_.hint() != attended_) [[unlikely]] attend();
  bool any = false;
  // With fibers ready, a worker with many peers looks at a few rings in turn; idle, at all.
  std::size_t left = inbound_.size();
  if (ready_head_ != nullptr) left = std::min(left, rings_polled_max);
  for (; left > 0; --left) {
    if (++next_ring_ >= inbound_.size()) next_ring_ = 0;
    any |= drain(inbound_[next_ring_], nullptr);
  }
  if (!looked_at_.empty()) any |= look();
  if (rare_sources_ != 0) [[unlikely]] any |= poll_rare();
  return any;
}

bool worker::poll_rare() {
  bool any = outside_ != nullptr && outside_->poll();
  if (!posted_.empty()) any |= flush_posted();
  if (!detached_.empty()) any |= end_detached();
  return any;
}

bool worker::look() noexcept {
  bool any = false;
  for (std::size_t left = std::min(looked_at_.size(), looks_max); left > 0; --left) {
    if (++next_look_ >= looked_at_.size()) next_look_ = 0;
    const looked_at at = looked_at_[next_look_];
    if (!at.w->holds(at.w->subject)) continue;
    looked_at_[next_look_] = looked_at_.back();
    looked_at_.pop_back();
    make_ready(*at.f);
    any = true;
    if (looked_at_.empty()) break;
  }
  return any;
}

bool worker::attend() {
  const std::lock_guard hold(owner_.lock_);
  attended_ = owner_.attention_.value();
  inbound_.clear();
  for (std::size_t i = 0; i < inbound_storage_.size(); ++i)
    if (inbound_storage_[i] != nullptr)
      inbound_.push_back({inbound_storage_[i].get(), static_cast<int>(i)});
  const auto here = static_cast<std::size_t>(index_);
  const bool is_asked =
      owner_.collect_ != nullptr && owner_.collected_[here] != owner_.collect_round_;
  if (is_asked && guest_ != nullptr) {
    --attended_;  // The worker's own thread knows where its fibers stand.
  } else if (is_asked) {
    owner_.collected_[here] = owner_.collect_round_;
    (*owner_.collect_)(*this);
    --owner_.collect_left_;
  }
  if (!owner_.stopping()) return false;
  if (!stop_acknowledged_) {
    if (outside_ != nullptr && !outside_->at_rest()) {
      --attended_;  // Something still writes into memory of a fiber: look again in the next pass.
      return true;
    }
    stop_acknowledged_ = true;
    short_ways_left_ = 0;
    if (owner_.stop_acknowledged_.arrive() == 0) owner_.attract_attention();
  }
  if (!unwinding_ && owner_.stop_acknowledged_.all_arrived()) {
    unwinding_ = true;
    release_waiters();
  }
  return true;
}

// Every suspended fiber runs again, to unwind or, where its wait may not be stopped, to wait on.
void worker::release_waiters() noexcept {
  looked_at_.clear();
  each_fiber([&](fiber& f) {
    if (f.waiting_in == nullptr || &f == &running()) return;
    if (f.told_by != nullptr) {
      if (f.told_by->waiter != &f) return;  // Ready already.
      f.told_by->waiter = nullptr;
    }
    for (const fiber* ready = ready_head_; ready != nullptr; ready = ready->next)
      if (ready == &f) return;
    make_ready(f);
  });
}

bool worker::has_own_work(const waiter& w) noexcept {
  return w.holds(w.subject) || ready_head_ != nullptr || !posted_.empty();
}

bool worker::has_work(const waiter& w) noexcept {
  if (has_own_work(w)) return true;
  if (outside_ != nullptr && (outside_->busy() || !outside_->arm())) return true;
  if (owner_.attention_.hint() != attended_) return true;
  for (const inbound& from : inbound_)
    if (from.records->front() != 0) return true;
  for (const looked_at& at : looked_at_)
    if (at.w->holds(at.w->subject)) return true;
  for (const detached_loop& d : detached_)
    if (slots_[d.slot].claims.finished()) return true;
  return false;
}

// docs/protocols/parking.md.
parked_count<>::outcome worker::lie_down(const waiter& w) {
  return owner_.parked_.park(spot_, [&] { return has_work(w); });
}

void worker::park(waiter& w) {
  using outcome = parked_count<>::outcome;
  // Whatever way this ends, the outside need not ring any more.
  struct awake_again {
    class outside* of;
    ~awake_again() {
      if (of != nullptr) of->disarm();
    }
  } const guard{outside_};
  outcome now_is = lie_down(w);
  if (now_is == outcome::awake) return;
  // Relaxed: the last sees what the others did before they parked.
  if (now_is == outcome::last && !owner_.has_guests() &&
      owner_.timers_.load(std::memory_order_relaxed) == 0 && !owner_.has_ended() && !has_work(w) &&
      !owner_.stopping()) {
    owner_.parked_.leave(spot_);
    if (outside_ != nullptr) outside_->disarm();
    if (!owner_.quiescent_ || !owner_.quiescent_(*this)) return;
    // Other processes may still bring work.
    if (lie_down(w) == outcome::awake) return;
  }
  std::uint64_t deadline = w.deadline_ns;
  for (const looked_at& at : looked_at_)
    if (at.w->deadline_ns != 0)
      deadline = deadline == 0 ? at.w->deadline_ns : std::min(deadline, at.w->deadline_ns);
  std::int64_t timeout = -1;
  if (deadline != 0) {
    const std::uint64_t now = now_ns();
    timeout = deadline > now ? static_cast<std::int64_t>(deadline - now) : 0;
  }
  if (outside_ != nullptr)
    if (const std::int64_t most = outside_->sleep_ns_max(); most >= 0)
      timeout = timeout < 0 ? most : std::min(timeout, most);
  ++counts_.parks;
  const trace_span traced(trace_kind::park, -1);
  if (helm_ == nullptr) [[likely]] return sleep(timeout);
  asleep_for_ = &w;
  helm_->give();
  sleep(timeout);
  helm_->take();
  asleep_for_ = nullptr;
}

// Until somebody wakes this worker, something comes from outside, or the time is over.
void worker::sleep(std::int64_t timeout_ns) {
  const outside::bell bell = outside_ != nullptr ? outside_->ringing() : outside::bell{};
  for (;;) {
    if (bell.word == nullptr ? spot_.sleep(timeout_ns)
                             : spot_.sleep_beside(*bell.word, bell.value, bell.shared, timeout_ns))
      return;
    // Without a bell or a limit: a signal, or the kernel's whim.
    if (timeout_ns < 0 && bell.word == nullptr) continue;
    owner_.parked_.leave(spot_);
    return;
  }
}

void worker::notify() noexcept { owner_.parked_.wake_if_parked(spot_); }

// --- Mail ----------------------------------------------------------------------------------------

worker::ring* worker::connect(int to) {
  worker& peer = owner_.at(to);
  ring* made = nullptr;
  {
    const std::lock_guard hold(owner_.lock_);
    auto& place = peer.inbound_storage_[static_cast<std::size_t>(index_)];
    if (place == nullptr) place = std::make_unique<ring>(mailbox_bytes);
    made = place.get();
  }
  outbound_[static_cast<std::size_t>(to)] = made;
  owner_.attract_attention();
  return made;
}

void worker::send_reserved(int to, std::uint8_t kind, std::uint32_t target) noexcept {
  outbound_[static_cast<std::size_t>(to)]->publish(kind, target);
  owner_.at(to).notify();
}

void worker::post(int to, std::uint8_t kind, std::uint32_t target,
                  std::span<const std::byte> payload) {
  ring::word* room = posted_.empty() ? try_reserve(to, payload.size()) : nullptr;
  if (room == nullptr) {
    posted_.push_back({to, kind, target, {payload.begin(), payload.end()}});
    ++rare_sources_;
    return;
  }
  std::memcpy(static_cast<void*>(room), payload.data(), payload.size());
  send_reserved(to, kind, target);
}

bool worker::flush_posted() {
  bool any = false;
  while (!posted_.empty()) {
    const waiting_record& r = posted_.front();
    ring::word* room = try_reserve(r.to, r.payload.size());
    if (room == nullptr) break;
    std::memcpy(static_cast<void*>(room), r.payload.data(), r.payload.size());
    send_reserved(r.to, r.kind, r.target);
    posted_.pop_front();
    --rare_sources_;
    any = true;
  }
  return any;
}

// --- Loops ---------------------------------------------------------------------------------------

void loop::run(std::int64_t first, std::int64_t last) noexcept {
  // Relaxed: an early end is only a courtesy; `failure` is read after the loop has ended.
  if (failed.load(std::memory_order_relaxed)) return;
  try {
    invoke(body, first, last);
  } catch (...) {
    if (!failed.exchange(true, std::memory_order_relaxed)) failure = std::current_exception();
  }
}

void worker::run_chunks(loop& l, chunk_claim claim) noexcept {
  void* const mine = std::exchange(identity_, l.identity);
  ++chunk_depth_;
  l.run(claim.first, claim.last);
  --chunk_depth_;
  identity_ = mine;
}

std::int64_t worker::claim_size(const loop_slot& slot, bool single) const noexcept {
  if (single) return 1;
  // Guided self-scheduling: a share of what is left, so that late claims are small.
  return std::max<std::int64_t>(1, slot.claims.remaining() / (2 * owner_.worker_count()));
}

loop_slot* worker::open_slot(loop& l) {
  for (std::size_t i = 0; i < open_loops_max; ++i) {
    loop_slot& slot = slots_[i];
    if (slot.in_use) continue;
    slot.in_use = true;
    slot.current = &l;
    slot.single.store(l.single, std::memory_order_relaxed);  // Relaxed: only a hint to thieves.
    slot.claims.open(l.chunk_count);
    // Relaxed: a hint to thieves; the claim itself orders what they read.
    open_slots_.store(open_slots_.load(std::memory_order_relaxed) | 1u << i,
                      std::memory_order_relaxed);
    return &slot;
  }
  return nullptr;
}

// Claims until nothing is left to claim; thieves may still be at work afterwards.
void worker::run_claims(loop& l, loop_slot& slot) {
  // Also when a seeded schedule unwinds from here: nobody may find the loop afterwards.
  struct hide {
    std::atomic<std::uint32_t>& open;
    std::uint32_t bit;
    ~hide() {
      // Relaxed: a hint to thieves, and only this worker writes.
      open.store(open.load(std::memory_order_relaxed) & ~bit, std::memory_order_relaxed);
    }
  } const hidden{open_slots_, 1u << (&slot - slots_.data())};
  const std::uint64_t wake_after = static_cast<std::uint64_t>(10'000 / ns_per_tick());
  std::uint64_t since = ticks();
  // While somebody sleeps, the first claim is one chunk: afterwards it is known whether the loop is
  // long enough to wake him.
  bool one = owner_.any_parked();
  while (const chunk_claim claim =
             slot.claims.claim_front(claim_size(slot, l.single || std::exchange(one, false)))) {
    {
      const trace_span traced(trace_kind::chunk_own, l.number, claim.first);
      run_chunks(l, claim);
    }
    slot.claims.finish(claim.last - claim.first);
    if (seeded_ && chunk_depth_ == 0) [[unlikely]] {
      perturb_seeded();
    } else if (owner_.any_parked() && slot.claims.remaining() > 0 &&
               ticks() - since > wake_after) {
      // Waking costs a system call: only for a loop that has proved long.
      owner_.wake_a_thief(index_);
      since = ticks();
    }
  }
}

void worker::close_slot(loop_slot& slot) noexcept {
  slot.in_use = false;
}

void worker::execute(loop& l) {
  l.identity = identity_;
  l.number = running().number;
  // Slots belong to whoever has the helm, which the program's code has not.
  const bool alone = (owner_.worker_count() == 1 && !seeded_) || helm_ != nullptr;
  loop_slot* slot = alone || !l.stealable || l.chunk_count < 2 ? nullptr : open_slot(l);
  if (slot == nullptr) {
    if (l.chunk_count > 0) run_chunks(l, {0, l.chunk_count});
  } else {
    run_claims(l, *slot);
    if (!slot->claims.finished()) {
      static constexpr wait_description thieves{"loop (thieves at work)"};
      waiter w{[](const void* subject) noexcept {
                 return static_cast<const loop_slot*>(subject)->claims.finished();
               },
               slot, &thieves};
      // Inside a chunk nothing else may run on this stack, or it would be buried.
      w.may_switch = w.may_steal = chunk_depth_ == 0;
      w.may_stop = false;
      block(w);
    }
    close_slot(*slot);
  }
  if (l.failure != nullptr) std::rethrow_exception(std::move(l.failure));
}

bool worker::open_detached(loop& l, void (*ended)(worker&, void*), void* context) {
  l.identity = identity_;
  l.number = running().number;
  loop_slot* slot = open_slot(l);
  if (slot == nullptr) return false;
  run_claims(l, *slot);
  if (slot->claims.finished()) {
    close_slot(*slot);
    ended(*this, context);
  } else {
    detached_.push_back({static_cast<std::size_t>(slot - slots_.data()), ended, context});
    ++rare_sources_;
  }
  return true;
}

bool worker::end_detached() {
  bool any = false;
  for (std::size_t i = 0; i < detached_.size();) {
    const detached_loop d = detached_[i];
    if (!slots_[d.slot].claims.finished()) {
      ++i;
      continue;
    }
    detached_.erase(detached_.begin() + static_cast<std::ptrdiff_t>(i));
    --rare_sources_;
    close_slot(slots_[d.slot]);
    d.ended(*this, d.context);
    any = true;
  }
  return any;
}

bool worker::steal(int first) {
  const int workers = owner_.worker_count();
  if (seeded_) return steal_from(*this);  // One worker: its waiting fibers are the thieves.
  if (workers == 1) return false;
  if (first >= 0 && first != index_ && steal_from(owner_.at(first))) return true;
  switch (owner_.options().steal) {
    case steal_mode::sticky:
      if (sticky_victim_ >= 0 && steal_from(owner_.at(sticky_victim_))) return true;
      [[fallthrough]];
    case steal_mode::random: {
      auto victim = static_cast<int>(
          std::uint64_t{next_random()} * static_cast<std::uint32_t>(workers - 1) >> 32);
      if (victim >= index_) ++victim;
      if (!steal_from(owner_.at(victim))) return false;
      sticky_victim_ = victim;
      return true;
    }
    case steal_mode::near:
      // Nearest first; a start that differs by worker keeps thieves apart.
      for (const bool same_node : {true, false}) {
        for (int step = 1; step < workers; ++step) {
          const int victim = (index_ + step) % workers;
          const auto& nodes = owner_.options().nodes;
          const bool near = nodes[static_cast<std::size_t>(victim)] ==
                            nodes[static_cast<std::size_t>(index_)];
          if (near == same_node && steal_from(owner_.at(victim))) return true;
        }
      }
      return false;
  }
  return false;
}

bool worker::steal_from(worker& victim) {
  std::uint32_t open = victim.open_slots_.load(std::memory_order_relaxed);  // A hint.
  if (open == 0) return false;
  // The innermost loop of the victim comes last; any with chunks left will do.
  while (victim.slots_[static_cast<std::size_t>(std::countr_zero(open))].claims.remaining() <= 0) {
    open &= open - 1;
    if (open == 0) return false;
  }
  loop_slot& slot = victim.slots_[static_cast<std::size_t>(std::countr_zero(open))];
  const std::int64_t remaining = slot.claims.remaining();
  const bool single = slot.single.load(std::memory_order_relaxed);
  const chunk_claim claim = slot.claims.claim_back(
      single ? 1 : std::max<std::int64_t>(1, remaining / (4 * owner_.worker_count())));
  if (!claim) {
    ++counts_.failed_steals;
    return false;
  }
  loop& l = *slot.current;
  {
    const trace_span traced(trace_kind::chunk_stolen, l.number, claim.first);
    run_chunks(l, claim);
  }
  const std::int64_t taken = claim.last - claim.first;
  l.stolen_chunks.fetch_add(taken, std::memory_order_relaxed);  // Relaxed: finish() publishes it.
  counts_.steals += static_cast<std::uint64_t>(taken);
  // From here on the owner may end the loop; touch nothing of it. Only the owner worker, which
  // outlives every loop, is told.
  if (slot.claims.finish(taken)) victim.notify();
  return true;
}

}  // namespace weft
