// Libraries that others load may take signals as soon as they are loaded.
#pragma once
#include <signal.h>

#include <array>
#include <vector>

namespace weft {

// libfabric, and an MPI, load libraries of networks, and one of these takes SIGINT, SIGTERM and the signals
// of faults when it is loaded: it prints addresses and calls exit() in the handler, while the ranks run on.
// At its end this puts back the dispositions of signals 1 to 31 that a library loaded meanwhile has
// taken, and no other: another thread may have changed those.
class kept_dispositions {
 public:
  kept_dispositions();
  ~kept_dispositions();
  kept_dispositions(const kept_dispositions&) = delete;
  kept_dispositions& operator=(const kept_dispositions&) = delete;

 private:
  std::array<struct sigaction, 31> before_{};
  std::vector<const void*> objects_;  // Loaded before, by their program headers.
};

}  // namespace weft
