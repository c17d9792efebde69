// The tasks of one worker: a deque for each priority, from which others steal; what only this worker may go on with;
// and the fibers on which tasks run.
//
// A task runs on a fiber of its own, since it may wait; or on the stack of a fiber that waits for nothing but that task.
// As long as any is not done the source counts as living (scheduler::expect_work), so that the job does not end.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/limits.hpp"
#include "sched/scheduler.hpp"
#include "sched/work_source.hpp"
#include "sync/deque.hpp"
#include "sync/handoff_stack.hpp"
#include "task/node_pool.hpp"
#include "weft/tasks/task.hpp"

namespace weft {

namespace detail {
class future_core;
}
struct waiting_fiber;

// News for a worker, from any thread: one of its fibers may go on, or a task that only it may run.
struct arrival {
  std_atomics::plain<arrival*> next;
  void (*come)(arrival& self, class task_source& home) noexcept = nullptr;
};

// What waits without a fiber, such as a coroutine, in its worker's list.
struct suspended {
  suspended* before = nullptr;
  suspended* after = nullptr;
  void (*abandon)(suspended& self) noexcept = nullptr;  // The job stops.
  void (*describe)(const suspended& self, std::string& text) = nullptr;
};

// Something that comes to the process by a way of its own, such as the sockets of a parcelport. Workers poll it in their
// passes.
class poller {
 public:
  // Hands over what has come, and returns whether anything had. The worker calls it in every pass, and between two while it
  // spins.
  virtual bool look(worker& here) noexcept = 0;
  // Returns whether anything is there. The worker asks before it sleeps; who brings something later calls worker::notify().
  [[nodiscard]] virtual bool has_any() const noexcept = 0;

 protected:
  ~poller() = default;
};

// Tasks of a worker that thieves can find at once, of each priority; further ones wait beside.
inline constexpr std::size_t tasks_of_worker_max = 4096;
inline constexpr std::size_t urgent_tasks_of_worker_max = 512;

class task_source final : public work_source {
 public:
  // `all`: those of the job by worker, complete before the first is used.
  task_source(worker& home, std::shared_ptr<const std::vector<task_source*>> all);
  ~task_source() override;

  // That of the calling worker, which opens it; throws weft::error, naming `call`, where tasks cannot be.
  [[nodiscard]] static task_source& here(const char* call);
  // That of the worker, which is the calling one and opens it, also where it runs no tasks.
  [[nodiscard]] static task_source& of(worker& here);
  // The same; null where there is none.
  [[nodiscard]] static task_source* here_or_null() noexcept {
    worker* const w = worker::current();
    return w != nullptr ? static_cast<task_source*>(w->source()) : nullptr;
  }

  [[nodiscard]] worker& home() const noexcept { return home_; }
  [[nodiscard]] node_pool& pool() noexcept { return *pool_; }

  // --- Called by the home ------------------------------------------------------------------------
  void submit(detail::task& work, priority urgency);
  // Lets others run here, in a seeded schedule. Throws job_stopped.
  void perturb() {
    if (!worker::in_chunk()) home_.perturb();
  }
  // No thief takes a task that is submitted here.
  void submit_here(detail::task& work) noexcept;
  // A message from elsewhere is about to be counted that may become a task: the job does not end before this worker has
  // looked for tasks again.
  void expect_tasks() { keep_job(); }
  // A task that has been taken, and where from.
  struct taken {
    enum class place : std::uint8_t { normal, urgent, pinned };
    detail::task* work = nullptr;
    place from = place::normal;
  };
  // The newest task; its `work` is null when there is none. It is to be run, or put back at once.
  [[nodiscard]] taken take_newest() noexcept {
    if (high_.seems_empty()) [[likely]]
      if (const auto newest = own_.try_pop()) [[likely]]
        return {*newest};
    return take_rare();
  }
  // Where it was: an urgent one stays so, and no thief gets what only this worker may run.
  void put_back(const taken& one) noexcept;
  // On the caller's stack, which waits for it. Others that are ready get a turn now and then.
  [[gnu::always_inline]] void run_here(detail::task& work) {
    if (home_.running().identity == nullptr && !home_.is_unwinding()) [[likely]]
      work.act(work, true);
    else
      run_without_identity(work);
    if (--until_others_ >= tasks_in_a_row_max) [[unlikely]]
      let_others_run();
  }
  // Whether enough of the caller's stack is left for it, and a wait of it would not be one of a coroutine's caller.
  [[nodiscard]] bool has_stack() const noexcept {
    const fiber& self = home_.running();
    const auto* const here = static_cast<const std::byte*>(__builtin_frame_address(0));
    return !self.stack.empty() && here - self.stack.data() > stack_left_min &&
           !has_callers_below(self);
  }
  // fiber::callers_below of one whose task has called nothing yet that it would keep from going on.
  static constexpr std::uint32_t nobody_below = ~std::uint32_t{0};
  [[nodiscard]] static bool has_callers_below(const fiber& self) noexcept {
    return self.callers_below + 1 > 1;
  }
  // Lists a wait for a time that was over before it was told (waiting_fiber.hpp). False: there is no memory to list it.
  [[nodiscard]] bool leave_behind(const detail::future_core& of, waiting_fiber& what) noexcept;
  [[nodiscard]] waiting_fiber* take_left_behind(const detail::future_core& of) noexcept;
  void forget_left_behind(const detail::future_core& of, const waiting_fiber& what) noexcept;
  void suspend(suspended& what) noexcept;
  void resume(suspended& what) noexcept;

  // Called by any thread.
  void send(arrival& what) noexcept;
  // Called by a worker: from now on all of the job look there, also those that run no tasks. `at` outlives them.
  static void look_everywhere_at(worker& here, poller& at);

  // work_source:
  bool look() noexcept override;
  fiber* take_own() override;
  fiber* take_others() override;
  bool has_own() const noexcept override;
  bool has_arrivals() const noexcept override {
    const poller* const further = further_.load(std::memory_order_relaxed);
    return !arrivals_.empty() || (further != nullptr && further->has_any());
  }
  bool has_surplus() const noexcept override;
  void describe(const std::function<void(const std::string&)>& line) const override;

 private:
  using tasks = deque<detail::task*, tasks_of_worker_max>;
  using urgent_tasks = deque<detail::task*, urgent_tasks_of_worker_max>;

  // A fiber that runs one task after another.
  struct runner {
    fiber flow;
    detail::task* work = nullptr;
    task_source* of = nullptr;
    runner* next = nullptr;  // Among those that have nothing to do.
  };

  // Tasks that run one after another before mail and fibers that are ready get a turn.
  static constexpr std::uint32_t tasks_in_a_row_max = 32;
  // Below so much of a stack a task gets one of its own.
  static constexpr std::ptrdiff_t stack_left_min = 16 * 1024;

  void run_without_identity(detail::task& work);
  [[gnu::noinline]] void let_others_run();
  void act(detail::task& work) noexcept { work.act(work, !home_.is_unwinding()); }
  void put_beside(detail::task& work) noexcept;  // Into the deque, or into overflow_.
  [[nodiscard]] taken take_any();
  [[nodiscard, gnu::noinline]] taken
  take_rare() noexcept;  // An urgent one, or one that waits beside.
  [[nodiscard]] taken steal();
  [[nodiscard]] fiber* runner_for(const taken& one);
  static void run_tasks(void* self);
  void abandon_suspended() noexcept;
  void keep_job() {
    if (is_living_) [[likely]]
      return;
    is_living_ = true;
    home_.owner().expect_work();
  }
  void let_job_end() noexcept;

  worker& home_;
  const std::shared_ptr<const std::vector<task_source*>> all_;
  std::unique_ptr<node_pool> pool_;
  bool is_living_ = false;
  std::uint32_t at_work_ = 0;  // Runners that have a task, and what is suspended.
  std::uint32_t until_others_ =
      0;  // Tasks that may yet run on a waiting stack before others get a turn.
  runner* idle_ = nullptr;
  std::vector<std::unique_ptr<runner>> runners_;
  // What only this worker may run, the oldest first; tasks for which there was no room, the newest first.
  detail::task* pinned_first_ = nullptr;
  detail::task* pinned_last_ = nullptr;
  detail::task* overflow_ = nullptr;
  suspended* suspended_ = nullptr;
  std::unordered_multimap<const detail::future_core*, waiting_fiber*> left_behind_;

  tasks normal_;
  tasks::owner own_{normal_};
  urgent_tasks high_;
  urgent_tasks::owner own_high_{high_};
  // Relaxed: it was complete before the workers ran.
  std::atomic<poller*> further_{nullptr};
  alignas(padding_bytes) handoff_stack<arrival> arrivals_;
};

}  // namespace weft
