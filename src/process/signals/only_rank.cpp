#include "process/signals/only_rank.hpp"

#include <pthread.h>

#include <optional>

#include "process/signals/signals.h"
#include "runtime/monitor.hpp"

namespace weft::process {
namespace {

std::optional<sigset_t> mask_of_only_rank;  // Written before there are any threads of weft's.

}  // namespace

signals_for_rank::signals_for_rank() noexcept {
  sigset_t all;
  sigfillset(&all);
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, stack_signal})
    sigdelset(&all, number);
  pthread_sigmask(SIG_BLOCK, &all, &before_);
  mask_of_only_rank = before_;
}
signals_for_rank::~signals_for_rank() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void take_signals_of_process() noexcept {
  if (mask_of_only_rank) pthread_sigmask(SIG_SETMASK, &*mask_of_only_rank, nullptr);
}

bool has_kernels_signals() noexcept {
  return mask_of_only_rank.has_value();
}

}  // namespace weft::process

extern "C" int weft_takes_signals(void) {
  return weft::process::has_kernels_signals() ? 1 : 0;
}
