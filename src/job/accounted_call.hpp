// While it lives, the accounts of the calling rank (profile/accounts.hpp) say that the program is in a call.
#pragma once
#include "job/state.hpp"
#include "profile/accounts.hpp"
#include "sched/attached_thread.hpp"

namespace weft::detail {

// Whether the calling code is not the rank's own: what goes on beside it, and the calls of other threads of the rank.
// It has no account, since the rank's own code computes or waits meanwhile.
[[nodiscard]] inline bool goes_on_beside(const worker& home) noexcept {
  return home.running().is_urgent || origin_of_this_thread().identity != nullptr;
}

class accounted_call {
 public:
  // `return_address` is the public function's: where in the program the call stands.
  [[gnu::always_inline]] accounted_call(const char* call, const void* return_address) {
    if (tracing()) [[unlikely]]
      begin(call, return_address);
  }
  [[gnu::always_inline]] ~accounted_call() {
    if (rank_ != profile::no_rank) [[unlikely]]
      profile::end_call(rank_);
  }
  accounted_call(const accounted_call&) = delete;
  accounted_call& operator=(const accounted_call&) = delete;

 private:
  [[gnu::noinline]] void begin(const char* call, const void* return_address) {
    const auto* const me = static_cast<const job_rank*>(worker::caller());
    if (me == nullptr || goes_on_beside(*me->home)) return;
    rank_ = me->number;
    profile::begin_call(rank_, call, return_address);
  }

  int rank_ = profile::no_rank;
};

// Notes where the program called the function that calls this, in case it comes to a wait.
[[gnu::always_inline]] inline void note_call_site(const void* return_address) noexcept {
  if (tracing()) [[unlikely]]
    profile::note_return_address(return_address);
}

}  // namespace weft::detail
