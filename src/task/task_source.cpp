#include "task/task_source.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/format.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

// Workers that are asked for a task in one look.
constexpr int victims_max = 16;
// Tasks that move to where thieves find them at once.
constexpr int overflow_moved_max = 64;

std::vector<std::unique_ptr<work_source>> make_sources(scheduler& workers) {
  std::vector<std::unique_ptr<work_source>> made;
  const auto all = std::make_shared<std::vector<task_source*>>();
  for (int i = 0; i < workers.worker_count(); ++i) {
    auto one = std::make_unique<task_source>(workers.at(i), all);
    all->push_back(one.get());
    made.push_back(std::move(one));
  }
  return made;
}

}  // namespace

task_source::task_source(worker& home, std::shared_ptr<const std::vector<task_source*>> all)
    : home_(home), all_(std::move(all)), pool_(std::make_unique<node_pool>()) {}

task_source::~task_source() {
  node_pool::leave(std::move(pool_));
}

task_source& task_source::here(const char* call) {
  worker* const w = worker::current();
  if (w == nullptr)
    throw error(formatted(
        "{} was called outside of ranks and tasks: call it in what weft::run() or weft::run_tasks() runs",
        call));
  if (w->is_shared()) [[unlikely]]
    throw error(formatted(
        "{} was called by a rank of a worker whose ranks may make threads that communicate "
        "(MPI_THREAD_SERIALIZED or more), which runs no tasks",
        call));
  return of(*w);
}

task_source& task_source::of(worker& here) {
  if (here.source() == nullptr) [[unlikely]]
    here.open_sources(&make_sources);
  return static_cast<task_source&>(*here.source());
}

void task_source::submit(detail::task& work, priority urgency) {
  keep_job();
  const bool is_in = urgency == priority::high ? own_high_.try_push(&work) : own_.try_push(&work);
  if (!is_in) [[unlikely]]
    put_beside(work);
  home_.wake_thief(home_.index());
}

void task_source::submit_here(detail::task& work) noexcept {
  keep_job();
  work.next = nullptr;
  (pinned_first_ == nullptr ? pinned_first_ : pinned_last_->next) = &work;
  pinned_last_ = &work;
}

void task_source::put_beside(detail::task& work) noexcept {
  if (overflow_ == nullptr && own_.try_push(&work)) return;
  work.next = std::exchange(overflow_, &work);
}

void task_source::put_back(const taken& one) noexcept {
  detail::task& work = *one.work;
  if (one.from == taken::place::pinned) {
    work.next = pinned_first_;
    if (pinned_first_ == nullptr) pinned_last_ = &work;
    pinned_first_ = &work;
  } else if (one.from != taken::place::urgent || !own_high_.try_push(&work)) {
    put_beside(work);
  }
}

// And makes some of the others that wait beside ones that thieves find.
task_source::taken task_source::take_rare() noexcept {
  if (const auto urgent = own_high_.try_pop()) return {*urgent, taken::place::urgent};
  if (const auto newest = own_.try_pop()) return {*newest};
  if (overflow_ == nullptr) return {};
  detail::task* const newest = std::exchange(overflow_, overflow_->next);
  for (int left = overflow_moved_max; left > 0 && overflow_ != nullptr; --left) {
    detail::task* const moved = overflow_;
    detail::task* const after = moved->next;
    if (!own_.try_push(moved)) break;
    overflow_ = after;
  }
  return {newest};
}

void task_source::run_without_identity(detail::task& work) {
  const worker::without_identity as_task(home_);
  act(work);
}

void task_source::let_others_run() {
  until_others_ = tasks_in_a_row_max;
  home_.poll();
  if (!home_.has_ready()) return;
  try {
    home_.yield();
  } catch (
      const job_stopped&) {  // The caller's wait will find that too, when all that it waits for has ended.
  }
}

bool task_source::leave_behind(const detail::future_core& of, waiting_fiber& what) noexcept {
  try {
    left_behind_.emplace(&of, &what);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

waiting_fiber* task_source::take_left_behind(const detail::future_core& of) noexcept {
  if (left_behind_.empty()) [[likely]]
    return nullptr;
  const auto found = left_behind_.find(&of);
  if (found == left_behind_.end()) return nullptr;
  waiting_fiber* const left = found->second;
  left_behind_.erase(found);
  return left;
}

void task_source::forget_left_behind(const detail::future_core& of,
                                     const waiting_fiber& what) noexcept {
  auto [at, end] = left_behind_.equal_range(&of);
  while (at != end && at->second != &what) ++at;
  if (at != end) left_behind_.erase(at);
}

void task_source::suspend(suspended& what) noexcept {
  keep_job();
  ++at_work_;
  what.before = nullptr;
  what.after = std::exchange(suspended_, &what);
  if (what.after != nullptr) what.after->before = &what;
}

void task_source::resume(suspended& what) noexcept {
  --at_work_;
  (what.before != nullptr ? what.before->after : suspended_) = what.after;
  if (what.after != nullptr) what.after->before = what.before;
}

void task_source::abandon_suspended() noexcept {
  while (suspended_ != nullptr) {
    suspended& one = *suspended_;
    resume(one);
    one.abandon(one);
  }
}

void task_source::send(arrival& what) noexcept {
  worker& to = home_;  // Once it is in, its receiver may end the job.
  arrivals_.push(&what);
  to.notify();
}

void task_source::look_everywhere_at(worker& here, poller& at) {
  for (task_source* const each : *of(here).all_) {
    each->further_.store(&at, std::memory_order_relaxed);
    each->home_.notify();
  }
}

bool task_source::look() noexcept {
  poller* const further = further_.load(std::memory_order_relaxed);
  const bool any = further != nullptr && further->look(home_);
  // A worker that shares itself with threads of its ranks is asked for no tasks any more.
  if (is_living_ && home_.is_shared()) [[unlikely]]
    let_job_end();
  arrival* newest = arrivals_.take_all();
  if (newest == nullptr) return any;
  arrival* oldest = nullptr;
  while (newest != nullptr) {
    arrival* const before = newest->next.get();
    newest->next.set(oldest);
    oldest = std::exchange(newest, before);
  }
  while (oldest != nullptr) {
    arrival& one = *oldest;
    oldest = one.next.get();  // The arrival is gone once it has come.
    one.come(one, *this);
  }
  return true;
}

bool task_source::has_surplus() const noexcept {
  return !normal_.seems_empty() || !high_.seems_empty();
}

bool task_source::has_own() const noexcept {
  return pinned_first_ != nullptr || overflow_ != nullptr || has_surplus();
}

// A seeded schedule has one worker and so no thief; it takes the oldest task now and then, as a thief would.
task_source::taken task_source::take_any() {
  if (pinned_first_ != nullptr) {
    detail::task* const first = pinned_first_;
    pinned_first_ = first->next;
    return {first, taken::place::pinned};
  }
  if (home_.owner().options().seed.has_value() && home_.next_random() % 2 == 0) [[unlikely]] {
    if (const auto oldest = urgent_tasks::thief(high_).try_steal())
      return {*oldest, taken::place::urgent};
    if (const auto oldest = tasks::thief(normal_).try_steal()) return {*oldest};
  }
  return take_newest();
}

task_source::taken task_source::steal() {
  const auto count = static_cast<int>(all_->size());
  if (count == 1 || home_.is_unwinding()) return {};
  auto victim = static_cast<int>(home_.next_random() % static_cast<std::uint32_t>(count));
  for (int left = std::min(count, victims_max); left > 0; --left, victim = (victim + 1) % count) {
    if (victim == home_.index()) continue;
    task_source& of_victim = *(*all_)[static_cast<std::size_t>(victim)];
    if (!of_victim.has_surplus()) continue;
    keep_job();  // Before the victim may have none left.
    taken::place from = taken::place::urgent;
    auto stolen = urgent_tasks::thief(of_victim.high_).try_steal();
    if (!stolen) {
      from = taken::place::normal;
      stolen = tasks::thief(of_victim.normal_).try_steal();
    }
    if (!stolen) continue;
    if (of_victim.has_surplus()) home_.wake_thief(victim);
    return {*stolen, from};
  }
  return {};
}

fiber* task_source::take_own() {
  if (home_.is_unwinding() && suspended_ != nullptr) [[unlikely]]
    abandon_suspended();
  const taken own = take_any();
  if (own.work == nullptr) {
    let_job_end();
    return nullptr;
  }
  if (has_surplus()) home_.wake_thief(home_.index());
  return runner_for(own);
}

fiber* task_source::take_others() {
  const taken stolen = steal();
  if (stolen.work != nullptr) return runner_for(stolen);
  let_job_end();
  return nullptr;
}

void task_source::let_job_end() noexcept {
  if (!is_living_ || at_work_ != 0 || has_own() || has_arrivals()) return;
  is_living_ = false;
  home_.owner().end_work();
}

fiber* task_source::runner_for(const taken& one) {
  if (idle_ == nullptr) {
    auto made = std::make_unique<runner>();
    made->of = this;
    made->flow.body = &run_tasks;
    made->flow.argument = made.get();
    try {
      home_.adopt(made->flow);
    } catch (...) {
      put_back(one);
      throw;
    }
    idle_ = made.get();
    runners_.push_back(std::move(made));
  }
  runner& free = *idle_;
  idle_ = free.next;
  free.work = one.work;
  ++at_work_;
  home_.enlist(free.flow);
  return &free.flow;
}

void task_source::run_tasks(void* self) {
  auto& mine = *static_cast<runner*>(self);
  task_source& of = *mine.of;
  for (;;) {
    of.act(*mine.work);
    for (std::uint32_t left = tasks_in_a_row_max;; --left) {
      if (left == 0) {
        of.home_.poll();
        left = tasks_in_a_row_max;
      }
      if (of.home_.has_ready()) break;
      taken next = of.take_any();
      if (next.work == nullptr) next = of.steal();
      if (next.work == nullptr) break;
      of.act(*next.work);
    }
    --of.at_work_;
    of.home_.dismiss(mine.flow);
    mine.next = std::exchange(of.idle_, &mine);
    of.home_.retire();
  }
}

void task_source::describe(const std::function<void(const std::string&)>& line) const {
  for (const suspended* one = suspended_; one != nullptr; one = one->after) {
    std::string text;
    one->describe(*one, text);
    line(text);
  }
}

// --- What the headers call -------------------------------------------------------------------------

void* detail::take_memory(std::size_t bytes) {
  task_source* const here = task_source::here_or_null();
  return here != nullptr && !here->home().has_attached_thread() ? here->pool().take(bytes)
                                                                : node_pool::take_without(bytes);
}

void detail::give_memory(void* memory, std::size_t) noexcept {
  task_source* const here = task_source::here_or_null();
  node_pool::give(memory,
                  here != nullptr && !here->home().has_attached_thread() ? &here->pool() : nullptr);
}

void detail::check_may_spawn(const char* call) {
  static_cast<void>(task_source::here(call));
}

void detail::submit(task& work, priority urgency) {
  task_source& here = task_source::here("spawn");
  here.submit(work, urgency);
  here.perturb();
}

}  // namespace weft
