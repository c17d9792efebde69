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
    const counted_task_wait counted(home.home(), description.call, object, return_address);
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

  task_source& home;
  completion_counter told_by{1};
  bool has_left = false;

 private:
  void wake() noexcept {
    if (has_left) return detail::free_pooled(this);
    home.home().complete(told_by);
  }
};

}  // namespace weft
