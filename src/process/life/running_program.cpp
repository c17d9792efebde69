#include "process/life/running_program.hpp"
#include "job/caller.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/forked_child.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "base/private_code.hpp"
#include "job/state.hpp"
#include "process/blocking/regions.hpp"
#include "process/life/caller.h"
#include "process/life/program.h"
#include "process/signals/signal_hooks.hpp"
#include "sched/worker.hpp"
#include "weft/run.hpp"

namespace weft::process {
namespace {

using detail::job_rank;
using detail::state_of_caller;

// The key is the rank's state, whose address is its identity.
struct active_runs {
  std::mutex lock;  // Never held across a wait.
  std::unordered_map<const void*, program_run*> by_rank;
};

active_runs& runs() {
  static active_runs all;
  // A child that a rank forks asks too: another rank's thread, which the child has not, must not have the lock.
  [[maybe_unused]] static const int is_held_in_forks = ::pthread_atfork(
      [] { all.lock.lock(); }, [] { all.lock.unlock(); }, [] { all.lock.unlock(); });
  return all;
}

// Null where this is no rank, or one that has no main() of its own. `use` is called under the lock: threads
// of a rank may ask while it ends.
template <class Use>
auto with_run_of(const job_rank* rank, Use&& use) -> decltype(use(std::declval<program_run&>())) {
  if (rank == nullptr) return nullptr;
  const std::lock_guard hold(runs().lock);
  const auto found = runs().by_rank.find(rank);
  return found == runs().by_rank.end() ? nullptr : use(*found->second);
}

const weft_own_state* own_of(const job_rank* rank) {
  return with_run_of(rank, [](program_run& run) { return run.own; });
}

_Unwind_Reason_Code stop_in_program(int, _Unwind_Action actions, _Unwind_Exception_Class,
                                    _Unwind_Exception*, _Unwind_Context* context, void* run) {
  if ((actions & _UA_END_OF_STACK) == 0 &&
      is_code_of_weft(reinterpret_cast<const void*>(_Unwind_GetIP(context))))
    return _URC_NO_REASON;
  auto& left = *static_cast<program_run*>(run);
  _longjmp(left.is_leaving ? left.end : left.stopped, 1);
}

// A thread that a rank has made cannot leave the rank's own stack.
void leave_in_thread(const job_rank& maker, int status, bool at_once) {
  if (detail::has_others_beside(maker))
    detail::end_process(maker, formatted("{}({})", at_once ? "_exit" : "exit", status), status);
}

// Returns when the caller is no rank that is in its program.
void leave_program(int status, bool at_once) {
  if (is_forked_child()) {
    // Its handlers ask for it.
    if (program_run* const copied = run_of_caller(); copied != nullptr)
      copied->exit_status = status;
    return;
  }
  const detail::maker_of_thread maker;
  if (maker.get() != nullptr) return leave_in_thread(*maker.get(), status, at_once);
  program_run* const mine = run_of_caller();
  if (mine == nullptr) return;
  program_run& run = *mine;
  run.exit_status = status;
  run.at_once = run.at_once || at_once;
  if (const auto* const hooks = signals_of_ranks(); hooks != nullptr) {
    run.is_leaving = true;
    hooks->leave_wait();  // A handler of a signal that runs in a wait: the wait is left first.
    run.is_leaving = false;
  }
  if (!worker::current()->in_chunk()) _longjmp(run.end, 1);
  log_line("rank {} called {}({}) inside a chunk of a loop: the process ends", this_rank(),
           at_once ? "_exit" : "exit", status);
  std::fflush(nullptr);
  ::syscall(SYS_exit_group, status != 0 ? status : 1);
}

}  // namespace

registered_run::registered_run(program_run& run) : rank_(state_of_caller()) {
  const std::lock_guard hold(runs().lock);
  runs().by_rank[rank_] = &run;
}
registered_run::~registered_run() {
  forget_regions(rank_);
  const std::lock_guard hold(runs().lock);
  runs().by_rank.erase(rank_);
}

program_run* run_of_caller() {
  return with_run_of(state_of_caller(), [](program_run& run) { return &run; });
}

void leave_handlers_of_exit() {
  program_run* const run = run_of_caller();
  if (run == nullptr || !(run->is_ending || run->is_leaving)) return;
  _Unwind_ForcedUnwind(&run->unwinding, &stop_in_program, run);
  std::terminate();
}

void leave_stopped_rank() {
  if (program_run* const run = run_of_caller(); run != nullptr) _longjmp(run->stopped, 1);
}

}  // namespace weft::process

extern "C" {

const struct weft_own_state* weft_own(void) {
  const weft::detail::rank_of_caller me;
  return weft::process::own_of(me.get());
}

void weft_exit(int status) {
  weft::process::leave_program(status, false);
}
void weft_exit_at_once(int status) {
  weft::process::leave_program(status, true);
}

int weft_exit_status(void) {
  const weft::process::program_run* const run = weft::process::run_of_caller();
  return run == nullptr ? 0 : run->exit_status;
}

void weft_successor_was_killed(const char* program, int number) {
  weft::log_line("rank {} had become {}, which signal {} ({}) has ended",
                 weft::detail::number_of_caller(), program, number, ::strsignal(number));
}

int weft_is_stopped(void) {
  return weft::worker::current()->is_unwinding() ? 1 : 0;
}

void weft_check_stopped(int is_noexcept) {
  weft::worker& here = *weft::worker::current();
  if (!here.is_unwinding()) return;
  if (is_noexcept != 0) weft::process::leave_stopped_rank();
  here.check_stopped();
}
}
