#include "sched/scheduler.hpp"

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <mutex>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/kernel.hpp"
#include "base/start_thread.hpp"
#include "base/topology.hpp"
#include "sched/alternate_stack.hpp"
#include "sched/calling_thread.hpp"
#include "sched/moving_threads.hpp"
#include "sched/worker_thread.hpp"
#include "trace/trace.hpp"

namespace weft {
namespace {

// Signals other than faults, and the one that asks a worker where it stands, go to the threads that
// the program or the monitor has for them.
void block_signals() noexcept {
  sigset_t all;
  sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, stack_signal})
    sigdelset(&all, fault);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

// A worker that gives its core away while it spins may spin longer before it sleeps: the sleep would cost it more. It does not
// spin for ever, since the core may go to programs that have nothing to do with it.
constexpr std::uint64_t crowded_spins = 16;

constexpr std::uint64_t shortest_spin_ns = 50'000;
// Twice as long as the longest waits of which programs are to notice nothing, and a tenth of what a deadlock may
// take to be told.
constexpr std::uint64_t longest_spin_ns = 10'000'000;

}  // namespace

void begin_worker_thread(const std::string& name) noexcept {
  block_signals();
  pthread_setname_np(pthread_self(), name.c_str());
}

thread_local constinit bool calling_thread_is_worker::wanted_ = false;

spinning spinning::with(const scheduler_options& options) noexcept {
  // One that moves gives its thread to other workers, likewise.
  const bool gives_up = options.is_crowded || options.threads != 0;
  const std::uint32_t clocked = gives_up ? 1 : 16;
  if (options.spin_ns) return {*options.spin_ns, *options.spin_ns, clocked, gives_up};
  if (gives_up)
    return {shortest_spin_ns * crowded_spins, shortest_spin_ns * crowded_spins, clocked, true};
  // A seeded schedule has one worker, to which nobody else brings anything.
  return {shortest_spin_ns, options.seed ? shortest_spin_ns : longest_spin_ns, clocked, false};
}

scheduler::scheduler(const scheduler_options& options)
    : options_(options),
      spinning_(spinning::with(options)),
      parked_(static_cast<std::int64_t>(options.cores.size())),
      collected_(options.cores.size(), 0) {
  stop_acknowledged_.expect(options.cores.size());
  (void)ns_per_tick();  // Measured before anything is timed with it.
  for (std::size_t i = 0; i < options_.cores.size(); ++i)
    workers_.push_back(std::make_unique<worker>(*this, static_cast<int>(i), options_.cores[i]));
  if (options_.threads > 0 && options_.threads < worker_count())
    moving_ = std::make_unique<moving_threads>(*this, options_.threads);
}

scheduler::~scheduler() = default;

void scheduler::run() {
  if (moving_ != nullptr)
    moving_->run();
  else
    run_bound();
  made_->way_in.close();
  while (!made_->way_in.is_empty()) give_core_up();  // Their waits end with the job.
}

// Each worker has a thread of its own.
void scheduler::run_bound() {
  const bool runs_first = calling_thread_is_worker::take();
  threads_.reserve(workers_.size());
  // They begin once all are there: a job of fewer would hang.
  std::mutex all_there;
  bool may_begin = false;
  std::unique_lock starting(all_there);
  const auto join_all = [&] {
    if (starting.owns_lock()) starting.unlock();
    for (std::thread& t : threads_) t.join();
    threads_.clear();
  };
  const auto start = [&](worker& of) {
    return start_thread(formatted("worker {} of {}", of.index(), worker_count()), [&, &self = of] {
      begin_worker_thread("weft-" + std::to_string(self.index()));
      const alternate_stack faults;
      if (self.core() >= 0) static_cast<void>(pin_this_thread(self.core()));
      trace_thread(self.index());
      {
        const std::lock_guard wait(all_there);
        if (!may_begin) return;
      }
      self.run();
    });
  };
  try {
    for (const auto& w : workers_)
      if (!runs_first || w->index() != 0) threads_.push_back(start(*w));
  } catch (...) {
    join_all();
    throw;
  }
  may_begin = true;
  if (runs_first) {
    starting.unlock();
    trace_thread(0);
    workers_.front()->run();
  }
  join_all();
}

std::shared_ptr<gate> scheduler::way_in_of_new_thread() const {
  made_->lived.begin();
  return {&made_->way_in, [kept = made_](gate*) { kept->lived.end(); }};
}

void scheduler::set_wait_watcher(wait_watcher watcher) noexcept {
  watcher_ = watcher;
  for (const auto& w : workers_) w->watched_ = watcher != nullptr;
}

void scheduler::deliver_rest() {
  for (bool any = true; std::exchange(any, false);)
    for (const auto& w : workers_) any |= w->poll();
}

// Whoever sees that none is left sees everything that the fibers did.
void scheduler::count_out() noexcept {
  if (living_.arrive() <= held_)
    for (const auto& w : workers_) w->notify();
}

void scheduler::abandon_network_work() noexcept {
  for (std::uint64_t left = network_work_.abandon(); left != 0; --left) count_out();
}

void scheduler::interrupt_workers() noexcept {
  interrupts_.add(1);
  for (const auto& w : workers_) w->notify();
}

void scheduler::request_stop() noexcept {
  if (stop_.hint()) return;  // Of several at the same time each may interrupt the workers.
  stop_.publish(true);
  interrupt_workers();
}

bool scheduler::on_every_worker(const std::function<void(worker&)>& collect) {
  const std::lock_guard alone(one_collection_at_a_time_);
  {
    const std::lock_guard hold(lock_);
    collect_ = &collect;
    ++collect_round_;
    collect_left_ = worker_count();
  }
  interrupt_workers();
  std::uint64_t deadline = now_ns() + pass_ns_max;
  for (int left = worker_count(); left > 0 && now_ns() < deadline;) {
    sleep_in_kernel(std::chrono::milliseconds(1));
    const std::lock_guard hold(lock_);
    if (std::exchange(left, collect_left_) != left) deadline = now_ns() + pass_ns_max;
  }
  const std::lock_guard hold(lock_);
  collect_ = nullptr;
  return collect_left_ == 0;
}

bool scheduler::any_mail(int index, const std::function<bool(record_header)>& is_such) {
  const std::lock_guard hold(lock_);
  for (const auto& ring : at(index).inbound_storage_) {
    const std::uint64_t word = ring == nullptr ? 0 : ring->peek();
    if (word != 0 && is_such(record_header{word})) return true;
  }
  return false;
}

void scheduler::look_again() noexcept {
  if (parked_.all()) return at(0).notify();
  for (int i = 0; i < worker_count() && any_parked(); ++i)
    if (at(i).slot_with_chunks() != nullptr || has_surplus(i)) wake_thieves(i, 1);
}

bool scheduler::has_surplus(int index) {
  const std::lock_guard hold(lock_);
  return !sources_.empty() && sources_[static_cast<std::size_t>(index)]->has_surplus();
}

void scheduler::wake_thieves(int owner, int count) noexcept {
  for (int step = 1; step < worker_count() && count > 0; ++step)
    if (at((owner + step) % worker_count()).wake_to_steal(owner)) --count;
}

}  // namespace weft
