// Signals that a rank sends to its process: a line says so when the process dies of one. In libweft.so only.
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "base/forked_child.hpp"
#include "base/library_function.hpp"
#include "base/output.hpp"
#include "job/caller.hpp"
#include "job/state.hpp"
#include "process/signals/fault_handlers.hpp"
#include "process/signals/only_rank.hpp"
#include "process/signals/signals.h"
#include "runtime/monitor.hpp"

namespace weft::process {
namespace {

using detail::job_rank;
using detail::state_of_caller;

// Whether the signal ends a process that does not handle it.
bool ends_process(int number) {
  switch (number) {
    case SIGHUP:
    case SIGINT:
    case SIGQUIT:
    case SIGILL:
    case SIGTRAP:
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGSEGV:
    case SIGSYS:
    case SIGKILL:
    case SIGUSR1:
    case SIGUSR2:
    case SIGPIPE:
    case SIGALRM:
    case SIGTERM:
    case SIGVTALRM:
    case SIGPROF:
    case SIGIO:
    case SIGXCPU:
    case SIGXFSZ:
      return true;
    default:
      return number >= SIGRTMIN && number <= SIGRTMAX;
  }
}

bool is_fault(int number) {
  return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL ||
         number == SIGTRAP;
}

// A handler of a fault may call it, also in malloc().
void tell_of_own_signal(int number, bool by_abort) {
  struct sigaction now {};
  const detail::maker_of_thread maker;
  const job_rank* const me = maker.get() != nullptr ? maker.get() : state_of_caller();
  if (me == nullptr || is_forked_child() || !ends_process(number) || handles_own_fault(number) ||
      sigaction(number, nullptr, &now) != 0)
    return;
  // Another thread may be waiting for it. Nobody waits for faults, which are blocked in their own handlers.
  sigset_t blocked;
  if (has_kernels_signals() && !by_abort && !is_fault(number) &&
      pthread_sigmask(SIG_BLOCK, nullptr, &blocked) == 0 && sigismember(&blocked, number) == 1)
    return;
  const bool is_reported = reports_fault(now);
  if (!is_reported && (now.sa_handler != SIG_DFL || me->of->places.size() == 1)) return;
  // A signal to the process may come to any of its threads, which knows no rank. So the fault's own report is
  // not needed any more.
  if (is_reported) ::signal(number, SIG_DFL);
  char line[128];
  int length = 0;
  if (by_abort)
    length = std::snprintf(line, sizeof line, "weft: rank %d called abort()%s\n", me->number,
                           maker.get() != nullptr ? " in a thread" : "");
  else if (const char* const name = sigabbrev_np(number); name != nullptr)
    length =
        std::snprintf(line, sizeof line,
                      "weft: rank %d sent its process the signal SIG%s (%s), which ends the job\n",
                      me->number, name, sigdescr_np(number));
  else
    length = std::snprintf(line, sizeof line,
                           "weft: rank %d sent its process the signal %d, which ends the job\n",
                           me->number, number);
  write_begun_lines_before_death();
  write_directly(STDERR_FILENO, {line, static_cast<std::size_t>(length)});
}

}  // namespace
}  // namespace weft::process

extern "C" {

void weft_raises(int number) {
  weft::process::tell_of_own_signal(number, false);
}
void weft_aborts(void) {
  weft::process::tell_of_own_signal(SIGABRT, true);
}

int (*weft_pthread_kill_of_libc(void))(pthread_t, int) {
  static const auto found = weft::next_definition<int(pthread_t, int)>("pthread_kill");
  return found;
}
}
