// A fiber that waits for something that any worker may bring about.
#pragma once
#include "task/counted_wait.hpp"
#include "task/task_source.hpp"
#include "weft/tasks/future.hpp"

namespace weft {

// Lives in the pool: the fiber may leave when the job stops, while somebody may still tell it.
struct waiting_fiber final : detail::listener, arrival {
  explicit waiting_fiber(task_source& its_home) noexcept : home(its_home) {
    told = [](listener& self) noexcept {
      auto& mine = static_cast<waiting_fiber&>(self);
      if (worker::current() == &mine.home.home())
        mine.wake();
      else
        mine.home.send(mine);
    };
    come = [](arrival& self, task_source&) noexcept { static_cast<waiting_fiber&>(self).wake(); };
  }
  // Until it is told; where it may stop it throws job_stopped. For the accounts: `object` makes it go on,
  // and where the program called.
  void wait(const wait_description& description, bool may_stop, const void* object,
            const void* return_address) {
    const auto counted = counted_task_wait(home.home(), description.call, object, return_address);
    try {
      if (may_stop)
        home.home().wait(told_by, description);
      else
        home.home().wait_to_the_end(told_by, description);
    } catch (...) {
      if (told_by.pending == 0)
        detail::free_pooled(this);
      else
        has_left = true;
      throw;
    }
    detail::free_pooled(this);
  }

  // Waits for so many nanoseconds at most, and returns whether `of`, to which it listens, is ready. When it is not, this
  // object stays for the next wait of this worker for the same: a listener cannot be taken back, and each of many short
  // waits would leave one.
  [[nodiscard]] bool wait_for(const wait_description& description, std::uint64_t duration_ns,
                              detail::future_core& of, const void* return_address) {
    const auto counted = counted_task_wait(home.home(), description.call, &of, return_address);
    has_left = false;
    try {
      home.home().wait_until(looks{[this] { return told_by.pending == 0; }}, duration_ns,
                             description);
    } catch (...) {
      if (told_by.pending == 0)
        go();
      else
        has_left = true;
      throw;
    }
    if (told_by.pending == 0) {
      go();
      return true;
    }
    has_left = true;
    if (home.leave_behind(of, *this) && left_behind_of == nullptr) {
      of.add_reference();  // No other one is at its address until this has gone.
      left_behind_of = &of;
    }
    return of.is_ready();
  }

  task_source& home;
  completion_counter told_by{1};
  bool has_left = false;
  detail::future_core* left_behind_of = nullptr;

 private:
  void wake() noexcept {
    if (!has_left) return home.home().complete(told_by);
    if (left_behind_of != nullptr) home.forget_left_behind(*left_behind_of, *this);
    go();
  }
  void go() noexcept {
    if (left_behind_of != nullptr) left_behind_of->drop_reference();
    detail::free_pooled(this);
  }
};

}  // namespace weft
