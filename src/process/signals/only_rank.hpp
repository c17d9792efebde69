// The signals of a process that has one rank.
#pragma once
#include <csignal>

namespace weft::process {

// A rank that is the only one of its process takes the process's signals itself, on its own thread, as a program does:
// handlers interrupt its calls and may leave them by a jump. Weft's other threads, which are made while this lives, take none.
class signals_for_rank {
 public:
  signals_for_rank() noexcept;
  ~signals_for_rank();
  signals_for_rank(const signals_for_rank&) = delete;
  signals_for_rank& operator=(const signals_for_rank&) = delete;

 private:
  sigset_t before_{};
};
// That rank calls it when it begins; it does nothing for others.
void take_signals_of_process() noexcept;

// Whether the process's only rank takes signals as any process does.
[[nodiscard]] bool has_kernels_signals() noexcept;

}  // namespace weft::process
