// A call of the program in the accounts of its rank (trace/accounts.hpp), while it lasts.
#pragma once
#include "job/state.hpp"
#include "trace/accounts.hpp"

namespace weft::detail {

class accounted_call {
 public:
  // `return_address` is that of the public function, which says where the program called it.
  [[gnu::always_inline]] accounted_call(const char* call, const void* return_address) {
    if (tracing()) [[unlikely]]
      begin(call, return_address);
  }
  [[gnu::always_inline]] ~accounted_call() {
    if (rank_ != accounts::no_rank) [[unlikely]]
      accounts::end_call(rank_);
  }
  accounted_call(const accounted_call&) = delete;
  accounted_call& operator=(const accounted_call&) = delete;

 private:
  [[gnu::noinline]] void begin(const char* call, const void* return_address) {
    const auto* const me = static_cast<const job_rank*>(worker::caller());
    // What goes on beside the rank's own code is no call of the program.
    if (me == nullptr || me->home->running().is_urgent) return;
    rank_ = me->number;
    accounts::begin_call(rank_, call, return_address);
  }

  int rank_ = accounts::no_rank;
};

// Says where the program called the function that says this, for the wait that it may come to.
[[gnu::always_inline]] inline void note_call_site(const void* return_address) noexcept {
  if (tracing()) [[unlikely]]
    accounts::note_return_address(return_address);
}

}  // namespace weft::detail
