// Keeps a library that is loaded from taking over signals.
#pragma once
#include <signal.h>

#include <array>
#include <vector>

#include "base/blocked_signals.hpp"

namespace weft {

// libfabric and MPIs load libraries of networks, and one of these installs handlers for SIGINT, SIGTERM and faults:
// they print addresses and call exit() while the ranks run on. The destructor restores the dispositions of signals
// that end a process, where a library that was loaded meanwhile has changed them. It restores no others: another
// thread may have changed those, or the library needs them. Until then these signals are blocked on this thread; a
// fault of the library itself ends the process as if there were no handler.
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
