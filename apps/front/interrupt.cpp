#include "front/interrupt.hpp"

#include <signal.h>

#include <atomic>

namespace front {
namespace {

std::atomic<int> noted{0};  // Relaxed everywhere: a number is all.

void note(int signal) noexcept {
  noted.store(signal, std::memory_order_relaxed);  // Relaxed: see above.
  ::signal(signal, SIG_DFL);
}

}  // namespace

void end_early_when_interrupted() {
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) ::signal(signal, &note);
  }
}

int interrupted() noexcept {
  return noted.load(std::memory_order_relaxed);  // Relaxed: see above.
}

}  // namespace front
