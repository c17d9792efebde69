// A count that tasks bring down to 0, and others wait for.
#pragma once
#include <cstddef>
#include <source_location>

#include "weft/tasks/future.hpp"

namespace weft {

// It is what std::latch is, but who waits lets its worker go on. It lives until all calls on it have returned.
class latch {
 public:
  explicit latch(std::ptrdiff_t expected,
                 const std::source_location& at = std::source_location::current());
  ~latch();
  latch(const latch&) = delete;
  latch& operator=(const latch&) = delete;

  // Called by any thread. By more than is left: throws weft::error.
  void count_down(std::ptrdiff_t update = 1);
  [[nodiscard]] bool try_wait() const { return state_->test(); }
  // Called by ranks and tasks.
  void wait() const { state_->wait("latch::wait"); }
  void arrive_and_wait() {
    count_down();
    wait();
  }

 private:
  alignas(8) std::byte left_[8];
  detail::held<detail::future_state<void>> state_;
};

}  // namespace weft
