// What happens when one rank ends the process while others run in it: exit(), quick_exit(), _exit().
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/format.hpp"
#include "base/log.hpp"
#include "base/output.hpp"
#include "job/caller.hpp"

namespace weft::detail {
namespace {

std::atomic<bool> any_job{
    false};  // Relaxed: a thread that asks in vain while another begins a job is told so by it.

// In programs with a main() for each rank a call ends the calling rank alone, and does not come here.
void end_with_others(const std::string& call, int status) {
  if (is_forked_child()) return;
  const rank_of_caller caller;
  const job_rank* const me = caller.get();
  if (me != nullptr && has_others_beside(*me)) end_process(*me, call, status);
  end_begun_lines();
}

void on_exit_of_rank(int status, void*) {
  end_with_others(formatted("exit({})", status), status);
}

// A handler of quick_exit() does not learn the status.
void on_quick_exit_of_rank() {
  end_with_others("quick_exit()", 1);
}

// Never 0, as the system sees it: it looks at the last byte alone.
int status_of_failure(int status) {
  return (status & 0xff) != 0 ? status : 1;
}

// A signal handler may call it, at any point of the program: it allocates nothing and waits for no lock.
[[noreturn]] void end_at_once(const char* call, int status) noexcept {
  // A child of vfork() shares its parent's memory, and must write nothing.
  if (is_forked_child())
    for (;;) ::syscall(SYS_exit_group, status);
  const rank_of_caller caller;
  const job_rank* const me = caller.get();
  if (me != nullptr && has_others_beside(*me)) {
    write_begun_lines_before_death();
    char line[160];
    const int length = std::snprintf(
        line, sizeof line,
        "weft: rank %d called %s(%d) while other ranks run, which ends the job: return from its "
        "function instead\n",
        me->number, call, status);
    write_directly(STDERR_FILENO, {line, static_cast<std::size_t>(length)});
    status = status_of_failure(status);
  }
  for (;;) ::syscall(SYS_exit_group, status);
}

}  // namespace

bool has_others_beside(const job_rank& me) {
  // In a job of several processes hold() counts as one more, until all may end.
  const std::uint64_t held = me.of->ranks.size() != me.of->places.size() ? 1 : 0;
  return me.of->ranks.size() != 1 && me.of->workers->living() > 1 + held;
}

// Destructors of globals would run while ranks use them. Not _exit(), which may lead back here.
void end_process(const job_rank& me, const std::string& call, int status) {
  const bool in_thread = origin_of_this_thread().identity != nullptr;
  std::fflush(nullptr);
  log_line(
      "rank {} called {}{} while other ranks run, which ends the job: return from its function "
      "instead",
      me.number, call, in_thread ? " in a thread" : "");
  end_begun_lines();
  for (;;) ::syscall(SYS_exit_group, status_of_failure(status));
}

int number_of_caller() noexcept {
  const int number = origin_of_this_thread().number;
  if (number >= 0) return number;
  const job_rank* const me = state_of_caller();
  return me == nullptr ? -1 : me->number;
}

bool has_had_job() noexcept {
  return any_job.load(std::memory_order_relaxed);
}

void watch_exit_of_process() {
  any_job.store(true, std::memory_order_relaxed);
  static const int watches_exit =
      ::on_exit(&on_exit_of_rank, nullptr) + std::at_quick_exit(&on_quick_exit_of_rank);
  static_cast<void>(watches_exit);
}

}  // namespace weft::detail

// These come before the C library's, which call no handler. Weak: a program's own come before these.
extern "C" {

[[gnu::weak]] void _exit(int status) {
  weft::detail::end_at_once("_exit", status);
}
[[gnu::weak]] void _Exit(int status) noexcept {
  weft::detail::end_at_once("_Exit", status);
}

}  // extern "C"
