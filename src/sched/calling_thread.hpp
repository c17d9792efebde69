// While an object of it lives, the next scheduler that this thread runs uses the thread itself as that of its first worker,
// instead of starting one. The thread is bound to no core, and keeps its own alternate stack for faults.
#pragma once

namespace weft {

class calling_thread_is_worker {
 public:
  calling_thread_is_worker() noexcept { wanted_ = true; }
  ~calling_thread_is_worker() { wanted_ = false; }
  calling_thread_is_worker(const calling_thread_is_worker&) = delete;
  calling_thread_is_worker& operator=(const calling_thread_is_worker&) = delete;

  // Called by the scheduler, once.
  [[nodiscard]] static bool take() noexcept {
    const bool is_wanted = wanted_;
    wanted_ = false;
    return is_wanted;
  }

 private:
  static thread_local constinit bool wanted_;
};

}  // namespace weft
