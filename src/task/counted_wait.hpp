// A rank's wait for what tasks or promises bring about, in its account (trace/accounts.hpp), while it lasts.
#pragma once
#include <span>

#include "sched/attached_thread.hpp"
#include "sched/worker.hpp"
#include "trace/accounts.hpp"

namespace weft {

class counted_task_wait {
 public:
  // Waits of tasks and of other threads of the rank are in no account. `return_address` is that of the public function; null: not known.
  [[gnu::always_inline]] counted_task_wait(worker& home, const char* call, const void* object,
                                           const void* return_address = nullptr) {
    if (tracing()) [[unlikely]]
      begin(home, call, object, return_address);
  }
  [[gnu::always_inline]] ~counted_task_wait() {
    if (rank_ != accounts::no_rank) [[unlikely]]
      end();
  }
  counted_task_wait(const counted_task_wait&) = delete;
  counted_task_wait& operator=(const counted_task_wait&) = delete;

 private:
  [[gnu::noinline]] void begin(worker& home, const char* call, const void* object,
                               const void* return_address) {
    if (home.running().identity == nullptr || home.running().is_urgent ||
        origin_of_this_thread().identity != nullptr)
      return;
    rank_ = home.running().number;
    object_ = object;
    if (return_address != nullptr) accounts::note_return_address(return_address);
    accounts::begin_caused_wait(rank_, trace_kind::wait_task, call);
  }
  [[gnu::noinline]] void end() {
    const std::uint64_t key = accounts::key_of_object(object_);
    accounts::end_caused_wait(rank_, trace_kind::wait_task, accounts::wait_state::late_task,
                              std::span(&key, 1));
  }

  int rank_ = accounts::no_rank;
  const void* object_ = nullptr;
};

}  // namespace weft
