// Libraries that others load may take signals as soon as they are loaded.
#pragma once
#include <signal.h>

#include <array>
#include <vector>

namespace weft {

// libfabric, and an MPI, load libraries of networks, and one of these takes SIGINT, SIGTERM and the signals
// of faults when it is loaded: it prints addresses and calls exit() in the handler, while the ranks run on.
// At its end this puts back the dispositions of signals that end a process where a library loaded meanwhile
// has taken them. No other: another thread may have changed those, or the library needs them for itself.
class kept_dispositions {
 public:
  kept_dispositions();
  ~kept_dispositions();
  kept_dispositions(const kept_dispositions&) = delete;
  kept_dispositions& operator=(const kept_dispositions&) = delete;

 private:
  static constexpr std::array signals_{SIGINT, SIGTERM, SIGHUP,  SIGQUIT, SIGSEGV, SIGBUS,
                                       SIGFPE, SIGILL,  SIGABRT, SIGTRAP, SIGSYS};
  std::array<struct sigaction, signals_.size()> before_{};
  std::vector<const void*> objects_;  // Loaded before, by their program headers.
};

}  // namespace weft
