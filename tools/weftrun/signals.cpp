#include "weftrun/signals.hpp"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/format.hpp"
#include "weft/error.hpp"

namespace weft {

signal_reader::signal_reader() {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int number : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH,
                           SIGTSTP, SIGCONT, SIGALRM})
    sigaddset(&handled, number);
  ::sigprocmask(SIG_BLOCK, &handled, nullptr);
  from_.reset(::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!from_) throw error(formatted("cannot read signals: {}", std::strerror(errno)));
}

int signal_reader::next() {
  signalfd_siginfo one;
  return ::read(from_.get(), &one, sizeof one) == sizeof one ? static_cast<int>(one.ssi_signo) : 0;
}

}  // namespace weft
