// What the rest of weft knows of signals of ranks that share a process.
#pragma once

namespace weft::process {

// What is known of signals of ranks, where there are any (rank_signals.cpp). The calling rank's own thread calls all of them.
struct signal_hooks {
  void (*leave_wait)();  // It ends: it leaves a wait, or returns when the rank is in none.
  // A handler runs that has interrupted it somewhere: nobody else may run.
  bool (*is_in_the_middle)() noexcept;
  bool (*has_own)() noexcept;
  bool (*has_to_run)() noexcept;  // A handler waits to run.
  void (*run)();
};
void set_signal_hooks(const signal_hooks& hooks) noexcept;      // Once.
[[nodiscard]] const signal_hooks* signals_of_ranks() noexcept;  // Null: there are none.
[[nodiscard]] inline bool is_in_middle_of_code() noexcept {
  const signal_hooks* const hooks = signals_of_ranks();
  return hooks != nullptr && hooks->is_in_the_middle();
}

}  // namespace weft::process
