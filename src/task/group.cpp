// Groups of tasks: weft/tasks/group.hpp.
#include "weft/tasks/group.hpp"

#include <atomic>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "base/format.hpp"
#include "sync/split_count.hpp"
#include "task/counted_wait.hpp"
#include "task/task_source.hpp"

namespace weft::detail {

struct group_core::body : arrival {
  explicit body(task_source& of) noexcept : home(of) {
    come = [](arrival& self, task_source& here) noexcept {
      here.home().complete(static_cast<body&>(self).told);
    };
  }

  task_source& home;
  split_count<> left;
  completion_counter told;
  std::exception_ptr failure{};  // Written by the one that set `failed`; read when all have ended.
  std::atomic<bool> failed{false};
  std::atomic<bool> stopped{false};
  std::mutex lock;                          // It guards `stop`, which is rarely used.
  std::stop_source stop{std::nostopstate};  // Made when somebody asks for a token.

  // Waits for tasks that have begun, on other stacks.
  [[gnu::noinline]] void wait_for_others() {
    told.pending = 1;
    if (left.settle()) return;
    const auto counted = counted_task_wait(home.home(), "task_group::wait", this);
    static constexpr wait_description tasks{"task_group::wait (tasks that have begun or wait)"};
    home.home().wait_to_the_end(told, tasks);
    left.resume();
  }
  // Tells the accounts that the last task of a group has ended, for which somebody waits.
  void note_last() const noexcept {
    if (tracing()) [[unlikely]]
      profile::leave_cause_of_task(profile::key_of_object(this));
  }
  void request_stop() noexcept {
    stopped.store(true, std::memory_order_relaxed);  // Relaxed: an early end is only a courtesy.
    std::stop_source source{std::nostopstate};
    {
      const std::lock_guard hold(lock);
      source = stop;
    }
    source.request_stop();  // The lock is free: the program's callbacks may ask the group.
  }
};

group_core::group_core() {
  static_assert(sizeof(body) <= sizeof storage_ && alignof(body) <= 16);
  if (worker::in_chunk())
    throw error(
        "a chunk of a loop made a task_group, which waits: make it before the loop, or call spawn(), whose future "
        "may be waited for after the loop");
  ::new (storage_) body(task_source::here("task_group"));
}

group_core::~group_core() {
  if (!self().left.is_done()) wait_for_all();
  self().~body();
}

void group_core::spawn(task& work, priority urgency) {
  body& mine = self();
  work.joined_by = this;
  if (worker::current() == &mine.home.home()) [[likely]] {
    mine.left.add_at_home();
    mine.home.submit(work, urgency);
    mine.home.perturb();
  } else {
    task_source& here = task_source::here("task_group::spawn");
    mine.left.add_elsewhere();
    here.submit(work, urgency);
  }
}

void group_core::finish() noexcept {
  body& mine = self();
  task_source& home = mine.home;
  if (worker::current() == &home.home()) [[likely]] {
    if (mine.left.finish_at_home()) {
      mine.note_last();
      home.home().complete(mine.told);
    }
  } else if (mine.left.finish_elsewhere()) {
    mine.note_last();
    home.send(mine);  // The home waits for nothing else.
  }
}

void group_core::fail(std::exception_ptr why) noexcept {
  body& mine = self();
  // Relaxed: the end of the tasks publishes the failure.
  if (!mine.failed.exchange(true, std::memory_order_relaxed)) mine.failure = std::move(why);
  mine.request_stop();
}

void group_core::wait_for_all() {
  body& mine = self();
  while (!mine.left.is_done()) {
    if (const auto newest = mine.home.take_newest(); newest.work != nullptr) {
      if (newest.work->joined_by == this && mine.home.has_stack()) [[likely]] {
        mine.home.run_here(*newest.work);
        continue;
      }
      mine.home.put_back(newest);
    }
    mine.wait_for_others();
  }
}

void group_core::wait() {
  body& mine = self();
  if (worker::current() != &mine.home.home())
    throw error(
        "task_group::wait was called by a task of another worker: only the group's maker waits for it");
  if (worker::in_chunk() && !mine.left.is_done())
    throw error(
        "a chunk of a loop called task_group::wait, which would wait on the stack of whoever runs the chunk: wait "
        "before or after the loop");
  wait_for_all();
  if (mine.failed.load(std::memory_order_relaxed)) {  // Relaxed: the tasks have ended.
    mine.failed.store(false, std::memory_order_relaxed);
    std::rethrow_exception(std::exchange(mine.failure, nullptr));
  }
}

void group_core::request_stop() noexcept {
  self().request_stop();
}

bool group_core::stop_requested() const noexcept {
  return self().stopped.load(std::memory_order_relaxed);
}

std::stop_token group_core::stop_token() {
  body& mine = self();
  const std::lock_guard hold(mine.lock);
  if (!mine.stop.stop_possible()) {
    mine.stop = std::stop_source();
    if (mine.stopped.load(std::memory_order_relaxed))
      mine.stop.request_stop();  // Relaxed: the lock orders it.
  }
  return mine.stop.get_token();
}

}  // namespace weft::detail
