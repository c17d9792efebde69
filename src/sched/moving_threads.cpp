#include "sched/moving_threads.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/kernel.hpp"
#include "base/sleeping_threads.hpp"
#include "base/start_thread.hpp"
#include "profile/free_cores.hpp"
#include "sched/alternate_stack.hpp"
#include "sched/scheduler.hpp"
#include "sched/worker.hpp"
#include "sched/worker_thread.hpp"
#include "trace/trace.hpp"

namespace weft {
namespace {

// How long a thread is idle before it takes a worker from another one: a thread that is about to come back to its
// worker, whose data its cache holds, is left alone.
constexpr std::uint64_t take_after_ns = 30'000;
// How long a thread without a worker looks before it sleeps.
constexpr std::uint64_t idle_spin_ns = 100'000;
// A thread sleeps at the words of at most this many workers: the kernel takes 128.
constexpr std::size_t words_slept_at_max = 120;

// How long a thread runs other workers before it gives a pass to one that rests and alone can tell whether it can go on.
constexpr std::uint64_t pass_after_ns = 5'000;
// After how long another thread makes such a worker park, so that whoever brings something wakes it.
constexpr std::uint64_t park_after_ns = 1'000'000;

// How often the lookout looks: while some thread is busy, and otherwise. After some looks at threads that are all idle it sleeps until
// one wakes up, and looks now and then only in case it has not been told.
constexpr std::chrono::microseconds tick(1'000), idle_tick(5'000), resting_tick(500'000);
constexpr int idle_ticks = 4;
// After how many looks a thread that is still with one worker loses its others: to an idle thread, to a spare one because it is held in a call of the kernel, or because it computes.
constexpr int busy_ticks = 1, held_ticks = 2, computing_ticks = 10;
// A thread that computes gets a spare thread only while there are fewer than this many for each thread.
constexpr int computing_spares = 4;
// Spare threads in all.
constexpr std::size_t spare_threads_max = 64;

}  // namespace

moving_threads::moving_threads(scheduler& of, int threads)
    : owner_(of),
      count_(threads),
      places_(static_cast<std::size_t>(of.worker_count())),
      threads_(static_cast<std::size_t>(threads)),
      seen_(static_cast<std::size_t>(threads)) {
  const int workers = of.worker_count();
  for (int i = 0; i < workers; ++i) {
    worker_place& p = places_[static_cast<std::size_t>(i)];
    p.of = &of.at(i);
    p.runner.set_home(i * threads / workers);
    p.of->place_ = &p;
  }
  for (int i = 0; i < threads; ++i) threads_[static_cast<std::size_t>(i)].index = i;
}

moving_threads::~moving_threads() = default;

void moving_threads::run() {
  if (tracing()) {
    worker_events kept;
    exchange_events(kept);
    for (worker_place& p : places_) {
      trace_thread(p.of->index_);
      exchange_events(p.events);
      p.accounts.first_begun = p.put_down_ticks = ticks();
    }
    exchange_events(kept);
  }
  for (worker_place& p : places_) {
    worker& w = *p.of;
    w.root_.stack = w.stacks_.take();
    w.root_.flow.emplace(w.root_.stack, &moving_threads::root_main, &p);
    w.running_ = p.put_down_in = &w.root_;
  }
  // They begin once all are there: with fewer the job would be slower than it need be.
  std::mutex all_there;
  bool may_begin = false;
  std::unique_lock starting(all_there);
  const auto gated = [&](const auto& body) {
    {
      const std::lock_guard wait(all_there);
      if (!may_begin) return;
    }
    body();
  };
  std::vector<std::thread> first;
  const auto join_all = [&] {
    if (starting.owns_lock()) starting.unlock();
    for (std::thread& t : first) t.join();
  };
  std::thread lookout;
  try {
    for (moving_thread& t : threads_)
      first.push_back(start_thread(formatted("thread {} of {} for workers", t.index, count_),
                                   [&, this] { gated([&] { serve(t); }); }));
    lookout = start_thread("the lookout of workers that wait for a thread",
                           [&, this] { gated([this] { look_out(); }); });
  } catch (...) {
    join_all();
    throw;
  }
  may_begin = true;
  join_all();
  {
    const std::lock_guard hold(lock_);
    ends_ = true;
  }
  changed_.notify_one();
  lookout.join();
  for (moving_thread& s : spares_) s.called.call();
  for (std::thread& t : started_) t.join();
  for (worker_place& p : places_) {
    p.of->root_.flow.reset();
    p.of->stacks_.give_back(p.of->root_.stack);
  }
}

// --- A worker, from its threads' side ----------------------------------------------------------------

// The worker's own flow of control, on a stack of its own.
void moving_threads::root_main(void* place) {
  auto& p = *static_cast<worker_place*>(place);
  p.of->run_root();
  p.put_down_in = &p.of->root_;
  p.has_ended.store(true, std::memory_order_relaxed);
  context::leave_to(*p.of->root_.flow, *p.on->own.flow);
}

void moving_threads::begin(moving_thread& me) noexcept {
  begin_worker_thread(me.is_spare ? "weft-spare" : formatted("weft-{}", me.index));
  me.state = this_thread_state();
  me.own.flow.emplace();
  me.number.store(gettid(), std::memory_order_relaxed);
}

void moving_threads::begin_records(worker_place& p, int moved_to) noexcept {
  exchange_events(p.events);
  exchange_accounts(p.accounts);
  const std::uint64_t now = ticks();
  if (!p.has_parked) {
    profile::note_engaged(p.put_down_ticks, now);
    record_trace_event(trace_phase::end, trace_kind::no_thread, -1, 0, 0, nullptr, now);
  }
  if (moved_to >= 0)
    record_trace_event(trace_phase::instant, trace_kind::move, -1, moved_to, 0, nullptr, now);
}

void moving_threads::end_records(worker_place& p) noexcept {
  p.of->note_busy();
  p.put_down_ticks = ticks();
  if (!p.has_parked)
    record_trace_event(trace_phase::begin, trace_kind::no_thread, -1, 0, 0, nullptr,
                       p.put_down_ticks);
  exchange_accounts(p.accounts);
  exchange_events(p.events);
}

void moving_threads::note_free(moving_thread& me, bool is_free) noexcept {
  if (std::exchange(me.is_free, is_free) == is_free) return;
  if (is_free)
    profile::begin_free_core();
  else
    profile::end_free_core();
}

// Runs the worker, whose runner the thread is, until that is put down.
void moving_threads::go_on(moving_thread& me, worker_place& p) noexcept {
  worker& w = *p.of;
  fiber& f = *p.put_down_in;
  // Threads that are attached to it may run it beside this one. They come to workers that stay.
  const bool is_shared = w.is_shared();
  const bool is_new_here = !is_shared && w.thread_.error_number != me.state.error_number;
  const bool moves = !me.is_spare && p.runner.home() != me.index;
  if (moves) {
    p.runner.set_home(me.index);
    ++w.counts_.moves;
  }
  if (tracing()) [[unlikely]]
    begin_records(p, moves ? me.index : -1);
  p.on = &me;
  if (!is_shared) w.thread_ = me.state;
  w.thread_number_.store(me.number.load(std::memory_order_relaxed), std::memory_order_relaxed);
  me.runs.store(w.index_, std::memory_order_relaxed);
  me.passes.store(me.passes.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  worker::current_worker_ = &w;
  worker::caller_ = f.identity;
  if (f.is_apart) [[unlikely]]
    worker::hooks.change(f);
  // Signals of its ranks may come to this thread from now on.
  if (is_new_here && worker::hooks.look != nullptr) [[unlikely]]
    worker::hooks.look(w);
  context::switch_to(*me.own.flow, *f.flow, me.state);
  if (p.put_down_in->is_apart) [[unlikely]]
    worker::hooks.change(me.own);
  worker::current_worker_ = nullptr;
  worker::caller_ = nullptr;
  if (tracing()) [[unlikely]]
    end_records(p);
  me.runs.store(-1, std::memory_order_relaxed);
  w.thread_number_.store(0, std::memory_order_relaxed);
  p.on = nullptr;
  // From here on another thread may run it. One that has ended keeps its runner: nobody runs it again.
  if (p.has_ended.load(std::memory_order_relaxed))
    note_end();
  else
    p.runner.put_down();
  if (owner_.options_.always_moves)
    threads_[static_cast<std::size_t>(p.runner.home())].called.call();
}

void moving_threads::note_end() noexcept {
  if (ended_.fetch_add(1, std::memory_order_relaxed) + 1 != static_cast<int>(places_.size()))
    return;
  for (moving_thread& t : threads_) t.called.call();
}

// Called on the fiber that runs the worker's wait loop. Returns when some thread goes on with the worker.
void moving_threads::put_down(worker& here) noexcept {
  worker_place& p = *here.place_;
  // Without the hand-off lock an attached thread may run another fiber now, and have its own state in the worker. Otherwise the
  // worker has that of the thread on which it goes on.
  p.put_down_in = here.is_shared() ? here.runs_on_own_thread_ : here.running_;
  const thread_state& there = here.is_shared() ? p.on->state : here.thread_;
  context::switch_to(*p.put_down_in->flow, *p.on->own.flow, there);
}

// The same, of a worker in whose wait attached threads may come meanwhile.
void moving_threads::put_down_unlocked(worker& here) noexcept {
  if (!here.is_shared()) [[likely]]
    return put_down(here);
  here.note_running();
  here.handoff_lock_->give();
  put_down(here);
  here.handoff_lock_->take();
}

bool moving_threads::is_wanted(const worker& here) noexcept {
  return here.place_->on->is_wanted.load(std::memory_order_relaxed);
}

moving_threads::rested moving_threads::rest(worker& here, const waiter* w, bool has_worked,
                                            bool has_slept) noexcept {
  worker_place& p = *here.place_;
  moving_thread& me = *p.on;
  if (worker::in_chunk()) {  // It has frames of another rank on its stack.
    give_core_up();
    return rested::alone;
  }
  me.passes.store(me.passes.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  me.is_wanted.store(false, std::memory_order_relaxed);
  if (owner_.options_.always_moves) {
    send_elsewhere(p);
  } else if (!me.is_spare) {
    const std::uint64_t now = now_ns();
    // It has come for one pass, which has found nothing.
    if (std::exchange(p.only_looks, false) && here.passes() <= p.passes_then + 1)
      has_worked = false;
    if (has_worked || me.idle_since_ns == 0) me.idle_since_ns = now;
    me.chosen = choose(me);
    // Its workers have only looked for as long as one looks before it sleeps. This one parks, and then the others.
    if (w != nullptr && now - me.idle_since_ns >= looks_for_ns(has_slept) &&
        (me.chosen == nullptr || me.chosen->only_looks)) {
      if (me.chosen != nullptr) {
        me.chosen->only_looks = false;
        std::exchange(me.chosen, nullptr)->runner.put_down();
      }
      return rested::is_to_park;
    }
    if (me.chosen == nullptr && w != nullptr && now - me.idle_since_ns >= take_after_ns)
      me.chosen = choose_others(me);
    if (me.chosen == nullptr)
      me.chosen = choose_to_look(me, now);
    else if (!me.chosen->only_looks)
      me.idle_since_ns = 0;
    if (me.chosen == nullptr) {
      give_core_up();  // A spare thread could use it, or another program.
      return rested::alone;
    }
  }
  const bool is_blind = here.events_ != nullptr || here.is_shared() || here.needs_own_thread(w);
  if (is_blind) p.passed_at_ns.store(now_ns(), std::memory_order_relaxed);
  p.needs_passes.store(is_blind, std::memory_order_relaxed);
  p.rests_in = w;
  put_down_unlocked(here);
  return std::exchange(p.is_to_park, false) ? rested::is_to_park : rested::was_away;
}

// As spin_limit: a worker that has slept in its wait, and has found nothing, looks for a short time only.
std::uint64_t moving_threads::looks_for_ns(bool has_slept) const noexcept {
  const spinning& how = owner_.spinning_;
  return has_slept ? std::min(how.at_most_ns, idle_spin_ns) : how.at_most_ns;
}

void moving_threads::sleep(worker& here, std::int64_t timeout_ns) noexcept {
  worker_place& p = *here.place_;
  if (owner_.options_.always_moves) send_elsewhere(p);
  p.has_parked = true;
  p.wakes_at_ns.store(timeout_ns < 0 ? 0 : now_ns() + static_cast<std::uint64_t>(timeout_ns),
                      std::memory_order_relaxed);
  const event_source::bell bell =
      here.events_ != nullptr ? here.events_->ringing() : event_source::bell{};
  p.bell_value.store(bell.value, std::memory_order_relaxed);
  p.bell_is_shared.store(bell.shared, std::memory_order_relaxed);
  p.bell.store(bell.word, std::memory_order_relaxed);
  put_down(here);
  p.has_parked = p.is_to_park = false;
  p.wakes_at_ns.store(0, std::memory_order_relaxed);
  p.bell.store(nullptr, std::memory_order_relaxed);
  if (!here.spot_.is_awake()) owner_.parked_.leave(here.spot_);  // Its time is over.
}

void moving_threads::stay(worker& here) noexcept {
  worker_place& p = *here.place_;
  p.runner.keep();
  while (p.on->is_spare) {
    p.rests_in = nullptr;
    put_down(here);
  }
}

void moving_threads::may_move(worker& here) noexcept {
  here.place_->runner.let_go();
}

void moving_threads::stay_from_next_wait(worker& of) noexcept {
  of.place_->runner.keep();
}

kept_on_thread::kept_on_thread(worker* here) noexcept
    : here_(here != nullptr && here->moves() ? here : nullptr),
      is_kept_(here_ != nullptr && !worker::in_chunk()) {
  if (is_kept_) moving_threads::stay(*here_);
}

kept_on_thread::~kept_on_thread() {
  if (is_kept_) moving_threads::may_move(*here_);
}

bool kept_on_thread::keep_for_good() noexcept {
  if (is_kept_)
    moving_threads::stay(*here_);
  else if (here_ != nullptr)
    moving_threads::stay_from_next_wait(here_->home_of_caller());
  return here_ != nullptr;
}

// It will be another thread's worker, which is called when it has been put down.
void moving_threads::send_elsewhere(worker_place& p) noexcept {
  if (p.runner.is_kept()) return;
  const auto threads = static_cast<std::uint32_t>(count_);
  p.runner.set_home(static_cast<int>(p.of->next_random() % threads));
  ++p.of->counts_.moves;
}

// --- Which worker a thread runs ---------------------------------------------------------------------

namespace {

// Of a parked worker: something has come to its device, which nobody but the worker has looked at.
bool is_rung(const worker_place& p) noexcept {
  const std::atomic<std::uint32_t>* const bell = p.bell.load(std::memory_order_relaxed);
  return bell != nullptr &&
         bell->load(std::memory_order_relaxed) != p.bell_value.load(std::memory_order_relaxed);
}

// Of a parked worker: nobody need wake it.
bool wakes_by_itself(const worker_place& p) noexcept {
  const std::uint64_t at = p.wakes_at_ns.load(std::memory_order_relaxed);
  return (at != 0 && now_ns() >= at) || is_rung(p);
}

}  // namespace

// True: the caller, `runner`, is its runner now, and the worker has something to do.
bool moving_threads::take_if_it_can_go_on(worker_place& p, std::uint32_t runner) noexcept {
  worker& w = *p.of;
  if (p.runner.number() != p.runner.nobody || (w.is_parked() && !wakes_by_itself(p))) return false;
  if (!p.runner.try_take_unless_kept(runner)) return false;
  if (p.has_parked ? !w.is_parked() || wakes_by_itself(p)
                   : p.rests_in == nullptr || (!w.is_shared() && w.has_work_seen(*p.rests_in)))
    return true;
  p.runner.put_down();
  return false;
}

// True: the caller, `runner`, is its runner now, and the worker, which rests, has made no pass for long. What comes from other
// processes its own fibers alone can take, and it alone looks at conditions that may act.
bool moving_threads::take_to_look(worker_place& p, std::uint32_t runner, std::uint64_t now,
                                  std::uint64_t after_ns) noexcept {
  // Another thread may have looked after `now`.
  if (!p.needs_passes.load(std::memory_order_relaxed) || p.runner.number() != p.runner.nobody ||
      p.of->is_parked() || now < p.passed_at_ns.load(std::memory_order_relaxed) + after_ns)
    return false;
  if (!p.runner.try_take_unless_kept(runner)) return false;
  if (p.has_parked) {
    p.runner.put_down();
    return false;
  }
  p.only_looks = true;
  p.passes_then = p.of->passes();
  return true;
}

worker_place* moving_threads::choose_to_look(moving_thread& me, std::uint64_t now) noexcept {
  const int places = static_cast<int>(places_.size());
  for (int left = places, at = me.next_look; left > 0; --left, ++at) {
    if (at >= places) at = 0;
    worker_place& p = places_[static_cast<std::size_t>(at)];
    if (p.runner.home() != me.index || !take_to_look(p, me.runner(), now, pass_after_ns)) continue;
    me.next_look = at + 1;
    return &p;
  }
  return nullptr;
}

// Of the thread's own. Those that ask again and again can always go on, and are not to keep the others from their devices.
worker_place* moving_threads::choose(moving_thread& me) noexcept {
  constexpr unsigned looks_in = 4;
  if (++me.choices % looks_in == 0)
    if (worker_place* const looks = choose_to_look(me, now_ns()); looks != nullptr) return looks;
  return choose_own(me);
}

worker_place* moving_threads::choose_own(moving_thread& me) noexcept {
  const int places = static_cast<int>(places_.size());
  for (int left = places, at = me.next; left > 0; --left, ++at) {
    if (at >= places) at = 0;
    worker_place& p = places_[static_cast<std::size_t>(at)];
    if (p.runner.home() != me.index || !take_if_it_can_go_on(p, me.runner())) continue;
    me.next = at + 1;
    return &p;
  }
  return nullptr;
}

// One that waits for a thread which runs another. Nearest first: of this thread's NUMA node, then of the others.
worker_place* moving_threads::choose_others(const moving_thread& me) noexcept {
  const std::vector<int>& nodes = owner_.options().nodes;
  const auto node_of = [&](int thread) { return nodes[static_cast<std::size_t>(thread)]; };
  for (const bool same_node : {true, false})
    for (worker_place& p : places_) {
      const int its = p.runner.home();
      if (its == me.index || (node_of(its) == node_of(me.index)) != same_node) continue;
      const int runs = threads_[static_cast<std::size_t>(its)].runs.load(std::memory_order_relaxed);
      if (runs < 0) continue;  // It looks at them itself.
      if (take_if_it_can_go_on(p, me.runner())) return &p;
      if (take_to_look(p, me.runner(), now_ns(), park_after_ns)) {
        p.is_to_park = true;
        return &p;
      }
    }
  return nullptr;
}

void moving_threads::serve(moving_thread& me) noexcept {
  const alternate_stack faults;
  begin(me);
  while (!is_over()) {
    worker_place* next = std::exchange(me.chosen, nullptr);
    if (next == nullptr) next = choose(me);
    if (next == nullptr) {
      idle(me);
      continue;
    }
    if (tracing()) [[unlikely]]
      note_free(me, false);
    go_on(me, *next);
  }
  if (tracing()) note_free(me, false);
  me.own.flow.reset();
}

// None of the thread's workers can go on.
void moving_threads::idle(moving_thread& me) noexcept {
  // Workers that are put down but not parked park first: only a parked worker makes its waker wake a thread.
  for (worker_place& p : places_)
    if (p.runner.home() == me.index && !p.of->is_parked() &&
        p.runner.try_take_unless_kept(me.runner())) {
      p.is_to_park = true;
      me.chosen = &p;
      return;
    }
  if (tracing()) [[unlikely]]
    note_free(me, true);
  const std::uint64_t now = now_ns();
  if (me.idle_since_ns == 0) me.idle_since_ns = now;
  if (now - me.idle_since_ns >= take_after_ns) {
    me.chosen = choose_others(me);
    if (me.chosen != nullptr) {
      me.idle_since_ns = 0;
      return;
    }
  }
  if (now - me.idle_since_ns < idle_spin_ns) return give_core_up();
  sleep_idle(me);
  me.idle_since_ns = 0;
}

// Sleeps until somebody wakes one of its workers, or one whose thread is busy, or calls the thread.
void moving_threads::sleep_idle(moving_thread& me) noexcept {
  me.called.answer();
  me.words.clear();
  me.slept_at.clear();
  me.words.add(me.called.word(), call_word<>::not_called);
  std::uint64_t deadline = 0;
  const auto sleep_at = [&](const worker_place& p) {
    me.words.add(p.of->spot_.word(), parking_spot<>::parked);
    if (const auto* const bell = p.bell.load(std::memory_order_relaxed); bell != nullptr)
      me.words.add(*bell, p.bell_value.load(std::memory_order_relaxed),
                   p.bell_is_shared.load(std::memory_order_relaxed));
    me.slept_at.push_back(&p);
    if (const std::uint64_t at = p.wakes_at_ns.load(std::memory_order_relaxed); at != 0)
      deadline = deadline == 0 ? at : std::min(deadline, at);
  };
  for (const worker_place& p : places_) {
    if (p.runner.home() != me.index) continue;
    if (p.has_ended.load(std::memory_order_relaxed)) continue;
    if (p.of->is_parked())
      sleep_at(p);
    else if (p.runner.number() <= static_cast<std::uint32_t>(count_) + 1)
      return;  // There is something to do. But a spare thread calls when it puts the worker down.
  }
  for (const worker_place& p : places_) {
    if (me.words.size() >= words_slept_at_max) break;
    const int its = p.runner.home();
    // Of one that stays on its thread it could not make use, and would not sleep while that is woken and its thread is busy.
    if (its != me.index && p.of->is_parked() && !p.runner.is_kept() &&
        threads_[static_cast<std::size_t>(its)].runs.load(std::memory_order_relaxed) >= 0)
      sleep_at(p);
  }
  if (is_over()) return;
  std::int64_t timeout = -1;
  if (deadline != 0) {
    const std::uint64_t now = now_ns();
    timeout = deadline > now ? static_cast<std::int64_t>(deadline - now) : 0;
  }
  me.words.sleep(timeout);
  // Relaxed: a hint. Where it comes late the lookout looks late, once.
  if (lookout_rests_.load(std::memory_order_relaxed)) {
    const std::lock_guard hold(lock_);
    lookout_rests_.store(false, std::memory_order_relaxed);
    changed_.notify_one();
  }
  // Whoever woke one of these has woken this thread only, and another one may have to know: the worker's own, which has
  // gone to sleep meanwhile, or one to which it has moved while this thread slept.
  for (const worker_place* p : me.slept_at)
    if (!p->of->is_parked() || is_rung(*p)) {
      const int its = p->runner.home();
      if (its != me.index) threads_[static_cast<std::size_t>(its)].called.call();
    }
}

// --- Workers that wait for a busy thread -----------------------------------------------------------------

void moving_threads::serve_as_spare(moving_thread& me) noexcept {
  const alternate_stack faults;
  begin(me);
  for (;;) {
    if (!me.called.answer()) {
      me.words.clear();
      me.words.add(me.called.word(), call_word<>::not_called);
      me.words.sleep(-1);
      continue;
    }
    worker_place* const p = me.given.load(std::memory_order_relaxed);
    if (p == nullptr) break;  // The end.
    go_on(me, *p);
    // The worker's own thread does not look at one that a spare thread has.
    const int its = p->runner.home();
    me.given.store(nullptr, std::memory_order_relaxed);
    spares_at_work_.fetch_sub(1, std::memory_order_relaxed);
    threads_[static_cast<std::size_t>(its)].called.call();
  }
  me.own.flow.reset();
}

void moving_threads::look_out() {
  begin_worker_thread("weft-lookout");
  std::unique_lock hold(lock_);
  int idle = 0;
  while (!ends_) {
    const bool any_runs = std::ranges::any_of(threads_, [](const moving_thread& t) {
      return t.runs.load(std::memory_order_relaxed) >= 0;
    });
    idle = any_runs ? 0 : idle + 1;
    const bool rests = idle > idle_ticks;
    lookout_rests_.store(rests, std::memory_order_relaxed);
    changed_.wait_for(hold, any_runs ? tick : rests ? resting_tick : idle_tick);
    if (rests && !lookout_rests_.exchange(false, std::memory_order_relaxed)) idle = 0;
    if (ends_) return;
    look();
  }
}

void moving_threads::look() {
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    const std::uint64_t passes = threads_[i].passes.load(std::memory_order_relaxed);
    const bool is_busy = threads_[i].runs.load(std::memory_order_relaxed) >= 0;
    seen_[i].ticks = is_busy && passes == seen_[i].passes_then ? seen_[i].ticks + 1 : 0;
    seen_[i].passes_then = passes;
  }
  const auto lookout = static_cast<std::uint32_t>(count_) + 1;
  for (worker_place& p : places_) {
    const auto its = static_cast<std::size_t>(p.runner.home());
    moving_thread& t = threads_[its];
    if (p.runner.number() != p.runner.nobody) continue;
    if (t.runs.load(std::memory_order_relaxed) < 0) continue;  // It looks at them itself.
    if (p.of->is_parked() && p.wakes_at_ns.load(std::memory_order_relaxed) == 0 && !is_rung(p))
      continue;
    t.is_wanted.store(true, std::memory_order_relaxed);
    if (seen_[its].ticks < busy_ticks) continue;
    if (!take_if_it_can_go_on(p, lookout)) {
      // It parks on another thread, so that its device rings.
      if (!take_to_look(p, lookout, now_ns(), park_after_ns)) continue;
      p.is_to_park = true;
    }
    if (has_held_long(t, seen_[its]) && !call_an_idle_one() && give_to_spare(p)) continue;
    p.runner.put_down();
    if (call_an_idle_one()) return;  // It takes one of them; the next look is soon.
  }
}

bool moving_threads::call_an_idle_one() noexcept {
  for (moving_thread& t : threads_)
    if (t.runs.load(std::memory_order_relaxed) < 0) {
      t.called.call();
      return true;
    }
  return false;
}

bool moving_threads::has_held_long(const moving_thread& t, const seen& s) const {
  const bool may_compute =
      spares_at_work_.load(std::memory_order_relaxed) < computing_spares * count_;
  if (s.ticks >= computing_ticks && may_compute) return true;
  return s.ticks >= held_ticks &&
         standing_thread(t.number.load(std::memory_order_relaxed)).is_in_call;
}

// False: there is no thread for it.
bool moving_threads::give_to_spare(worker_place& p) {
  moving_thread* free = nullptr;
  for (moving_thread& s : spares_)
    if (s.given.load(std::memory_order_relaxed) == nullptr) free = &s;
  if (free == nullptr) {
    if (spares_.size() + threads_.size() >= places_.size() || spares_.size() >= spare_threads_max)
      return false;
    moving_thread& made = spares_.emplace_back();
    made.is_spare = true;
    made.index = count_ + static_cast<int>(spares_.size());  // The lookout's number lies between.
    try {
      started_.push_back(
          start_thread("a spare thread for workers", [this, &made] { serve_as_spare(made); }));
    } catch (const error&) {
      spares_.pop_back();
      return false;
    }
    free = &made;
  }
  spares_at_work_.fetch_add(1, std::memory_order_relaxed);
  free->given.store(&p, std::memory_order_relaxed);
  p.runner.pass_to(free->runner());
  free->called.call();
  return true;
}

}  // namespace weft
