// Signals kept from the calling thread for a while; those that it makes meanwhile begin like it.
#pragma once
#include <pthread.h>
#include <signal.h>

#include <initializer_list>

namespace weft {

class blocked_signals {
 public:
  explicit blocked_signals(const sigset_t& which) noexcept {
    pthread_sigmask(SIG_BLOCK, &which, &before_);
  }
  // All but those of faults, which the kernel sends to who causes them.
  blocked_signals() noexcept : blocked_signals(all_but_faults()) {}
  ~blocked_signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  blocked_signals(const blocked_signals&) = delete;
  blocked_signals& operator=(const blocked_signals&) = delete;

 private:
  static sigset_t all_but_faults() noexcept {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT})
      sigdelset(&all, fault);
    return all;
  }

  sigset_t before_{};
};

}  // namespace weft
