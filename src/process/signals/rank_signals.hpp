// Signals of ranks that share a process, as moved calls, sleeps and the end of a rank know them.
#pragma once
#include <ucontext.h>

#include <cstdint>

namespace weft::process {

struct rank_signals;

// The calling rank's, on its own thread; null where it has never had to do with signals.
[[nodiscard]] rank_signals* signals_of_caller() noexcept;
// Whether a handler is to run: looked at by waits that handlers interrupt.
[[nodiscard]] bool has_handlers_to_run(const rank_signals& mine) noexcept;
// No handler runs in the rank's waits while it lives: the caller runs them after its wait.
class handlers_kept_back {
 public:
  explicit handlers_kept_back(rank_signals* mine) noexcept;
  ~handlers_kept_back();
  handlers_kept_back(const handlers_kept_back&) = delete;
  handlers_kept_back& operator=(const handlers_kept_back&) = delete;

 private:
  rank_signals* const mine_;
};
// Handlers run on the rank's own stack. True when all that have run let the call that they interrupt go on (SA_RESTART).
bool run_handlers(rank_signals& mine);
// How often a handler of the calling rank has run that does not let calls begin again.
[[nodiscard]] std::uint64_t times_interrupted() noexcept;
// A rank that ends in a handler leaves that; within a wait it leaves the wait first. Returns when it is in none.
void leave_handler_in_wait();

// The signal that weft keeps for itself, sent to a thread; its handler calls the second on threads that make no moved
// call.
[[nodiscard]] int own_signal() noexcept;
void accept_own_signal() noexcept;  // The calling thread does.
void set_relay(void (*relay)(ucontext_t& interrupted)) noexcept;

}  // namespace weft::process
