// Waits for what tasks or promises bring about, in accounts.
#pragma once
#include "profile/counted_wait.hpp"
#include "sched/attached_thread.hpp"
#include "sched/worker.hpp"

namespace weft {

// Keeps the wait in an account, while what it returns lives: that of the rank on whose stack the caller runs, or, for a task
// with a fiber of its own, as a wait of a task. Waits of other threads of a rank are in no account. `return_address` is that of
// the public function; null: not known.
[[gnu::always_inline]] inline auto counted_task_wait(worker& home, const char* call,
                                                     const void* object,
                                                     const void* return_address = nullptr) {
  const auto whose = [&home] {
    const fiber& self = home.running();
    if (self.is_urgent || origin_of_this_thread().identity != nullptr) return profile::no_rank;
    return self.number >= 0 ? self.number : profile::no_rank_but_task;
  };
  return profile::counted_wait(whose, call, profile::awaited_object{object, return_address});
}

}  // namespace weft
