// What becomes of a process that one of its ranks ends, beside others: exit(), quick_exit(), _exit().
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

// Which status it was called with nobody says.
void on_quick_exit_of_rank() {
  end_with_others("quick_exit()", 1);
}

// Of a process that a rank ends beside others: the system looks at the last byte alone.
int status_of_failure(int status) {
  return (status & 0xff) != 0 ? status : 1;
}

// A handler of a signal may call it, which has interrupted anything: nothing is allocated, no lock waited for.
[[noreturn]] void end_at_once(const char* call, int status) noexcept {
  // One that is forked by vfork() has its parent's memory.
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
  // Of several processes each is held until all may end, which counts as one more.
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

// Before those of the C library, which no handler hears of. Weak: a program's own go first.
extern "C" {

[[gnu::weak]] void _exit(int status) {
  weft::detail::end_at_once("_exit", status);
}
[[gnu::weak]] void _Exit(int status) noexcept {
  weft::detail::end_at_once("_Exit", status);
}

}  // extern "C"
