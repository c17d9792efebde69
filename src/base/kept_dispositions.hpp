// Libraries that others load may take signals as soon as they are loaded.
#pragma once
#include <signal.h>

#include <array>
#include <vector>

#include "base/blocked_signals.hpp"

namespace weft {

// libfabric, and an MPI, load libraries of networks, and one of these takes SIGINT, SIGTERM and the signals
// of faults when it is loaded: it prints addresses and calls exit() in the handler, while the ranks run on.
// At its end this puts back the dispositions of signals that end a process where a library loaded meanwhile
// has taken them. No other: another thread may have changed those, or the library needs them for itself.
// Until then these signals wait, as far as this thread is concerned, and are met by our dispositions; a
// fault of the library's own ends the process as if there were no handler.
class kept_dispositions {
 public:
  kept_dispositions();
  ~kept_dispositions();
  kept_dispositions(const kept_dispositions&) = delete;
  kept_dispositions& operator=(const kept_dispositions&) = delete;

 private:
  static constexpr std::array signals_{SIGINT, SIGTERM, SIGHUP,  SIGQUIT, SIGSEGV, SIGBUS,
                                       SIGFPE, SIGILL,  SIGABRT, SIGTRAP, SIGSYS};
  static sigset_t all() noexcept;

  blocked_signals waiting_{all()};  // First: it ends after all have been put back.
  std::array<struct sigaction, signals_.size()> before_{};
  std::vector<const void*> objects_;  // Loaded before, by their program headers.
};

}  // namespace weft
