// How the thread of a program becomes a rank in the middle of a call, and goes on with its own stack. weft::run() begins on a
// stack of its own, with the calling thread as the first worker's; the body of the rank, on the rank's fiber, goes back to the
// program. From then on the fiber is where the program is: waits switch from there to others, and come back. To end, the program
// goes to the body, which returns, and weft::run() goes back to the program when it has ended.
#include "process/life/late_rank.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <utility>

#include "base/forked_child.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "fiber/context.hpp"
#include "fiber/stack_pool.hpp"
#include "job/caller.hpp"
#include "process/life/foreign_thread.hpp"
#include "process/life/program.hpp"
#include "process/signals/only_rank.hpp"
#include "sched/calling_thread.hpp"
#include "weft/error.hpp"
#include "weft/run.hpp"

namespace weft::process {
namespace {

constexpr std::size_t stack_of_run_bytes = std::size_t{1} << 20;

struct late_rank {
  stack_pool stacks{stack_of_run_bytes};
  context program;  // The program waits here while weft::run() begins or ends.
  context body;     // The rank's body waits here while the program runs.
  std::optional<context> run;
  options how;
  detail::job_rank* rank = nullptr;  // Null before the body has begun.
  std::exception_ptr why;            // The reason why the program does not go on.
  int status = 0;
};

std::mutex life;
late_rank* alive = nullptr;  // Under `life`.
thread_local constinit late_rank* own = nullptr;
int status_of_job = 0;  // Written by the rank's thread, which reads it when it ends the process.

void let_program_go_on(late_rank& me) {
  detail::job_rank& rank = detail::calling_job_rank("MPI_Init");
  if (const std::size_t ranks = rank.of->ranks.size(); ranks != 1)
    throw error(formatted(
        "{} holds one rank, since weftcc has not linked it, and this process is to have {}: give each rank a process "
        "(weftrun --ranks-per-process 1)",
        program_invocation_short_name, ranks));
  take_signals_of_process();
  me.rank = &rank;
  own = &me;
  {
    const std::lock_guard hold(life);
    alive = &me;
  }
  context::switch_to(me.body, me.program, this_thread_state());
  {
    const std::lock_guard hold(life);
    alive = nullptr;
  }
  own = nullptr;
  if (me.why) std::rethrow_exception(std::exchange(me.why, nullptr));
}

[[noreturn]] void end_process_with(int status) {
  std::fflush(nullptr);
  ::_exit(status);
}

void run_job_of(void* argument) {
  auto& me = *static_cast<late_rank*>(argument);
  bool goes_on = true;
  {
    const calling_thread_is_worker here;
    me.status = weft::run(me.how, [&](communicator&) {
      try {
        let_program_go_on(me);
      } catch (...) {
        goes_on = false;
        throw;
      }
    });
  }
  if (!goes_on || me.rank == nullptr) end_process_with(me.status != 0 ? me.status : 1);
  context::leave_to(*me.run, me.program);
}

// The program ends; as it says, unless the job has failed.
void end_with_process(int status, void*) {
  if (is_forked_child()) return;
  end_late_rank();
  if (status == 0 && status_of_job != 0) end_process_with(status_of_job);
}

}  // namespace

bool is_late_rank() noexcept {
  return own != nullptr && called_by_own_thread();
}

void begin_late_rank() {
  static std::atomic<bool> has_begun{
      false};  // Relaxed: of several threads that call at once, one begins.
  if (detail::has_had_job() || is_forked_child() ||
      has_begun.exchange(true, std::memory_order_relaxed))
    return;
  auto& me = *new late_rank;  // Kept: threads that the program leaves behind may look for it.
  try {
    int no_words = 0;
    char* none[] = {nullptr};
    me.how = program_options(no_words, none).values;
  } catch (const error& e) {
    log_text(e.what());
    end_process_with(2);
  }
  me.how.pin = false;  // The program's other threads would be bound with it.
  const signals_for_rank only_rank;
  const std::span<std::byte> stack = me.stacks.take();
  me.run.emplace(stack, &run_job_of, &me);
  context::switch_to(me.program, *me.run, this_thread_state());
  // Now: what the job has made and destroys at the end of the process, it destroys later.
  ::on_exit(&end_with_process, nullptr);
}

void end_late_rank() {
  if (!is_late_rank() || &worker::current()->running() != &own->rank->main) return;
  late_rank& me = *own;
  context::switch_to(me.program, me.body, this_thread_state());
  me.run.reset();
  status_of_job = me.status;
}

void leave_late_rank(const std::exception_ptr& why) {
  if (!is_late_rank()) return;
  late_rank& me = *own;
  me.why = why;
  context::switch_to(me.program, me.body, this_thread_state());
}

bool adopt_thread_of_late_rank() {
  const std::lock_guard hold(life);
  if (alive == nullptr || own != nullptr || is_forked_child()) return false;
  detail::job_rank& rank = *alive->rank;
  set_origin_of_this_thread(
      {rank.home, &rank, rank.number, {}, rank.home->owner().way_in_of_new_thread()});
  return true;
}

}  // namespace weft::process
