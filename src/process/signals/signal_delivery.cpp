// How a signal comes to ranks of a process that have handlers of their own, in libweft.so. The kernel's handler for the process only
// passes on what comes, to a thread that gives it to all ranks that want it.
//
// A rank's handler runs on the rank's own stack: at once, by the signal that weft keeps for itself, when the worker's
// thread is in the program's code; in the wait, when the rank waits; else at the next of these, which the thread looks
// for again and again. A call that blocks, or sleeps, is left first, as the kernel does it.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "base/blocked_signals.hpp"
#include "base/clock.hpp"
#include "base/forked_child.hpp"
#include "base/kept_errno.hpp"
#include "base/library_function.hpp"
#include "base/log.hpp"
#include "base/private_code.hpp"
#include "job/caller.hpp"
#include "process/signals/signal_hooks.hpp"
#include "process/signals/signal_table.hpp"
#include "sched/scheduler.hpp"
#include "sched/worker.hpp"
#include "weft/run.hpp"

namespace weft::process {
namespace {

// The kernel's handler writes to the thread that passes on through this pipe.
constinit int passing[2] = {-1, -1};
int (*rank_of_child)(int child) = nullptr;
int (*next_ended_child)(int* rank) = nullptr;

// The number of a passed_signal that is none: the rank wants a process number.
constexpr int wants_number = -1;

void write_passed(const passed_signal& passed) noexcept {
  static_cast<void>(::syscall(SYS_write, passing[1], &passed, sizeof passed));
}

// Whether a worker's thread is sent the signal that weft keeps, and has not taken it: several would lie on each other.
// Relaxed: the kernel orders a signal and its handler.
constexpr std::size_t workers_told_max = 4096;
constinit std::array<std::atomic<bool>, workers_told_max> is_sent{};
std::atomic<bool>& is_sent_to(const worker& w) noexcept {
  return is_sent[static_cast<std::size_t>(w.index()) % workers_told_max];
}

// Whether some rank has yet to run a handler. The caller holds the lock.
bool urge_ranks(bool in_waits) {
  bool any = false;
  for (const auto& one : table().all) {
    if (!can_run(*one)) continue;
    if (!any && in_waits) one->rank->of->workers->look_for_calls();
    any = true;
    if (const int thread = one->rank->home->thread();
        thread != 0 && !is_sent_to(*one->rank->home).exchange(true, std::memory_order_relaxed))
      ::syscall(SYS_tgkill, getpid(), thread, own_signal());
  }
  return any;
}

void give_to_ranks(const passed_signal& passed) {
  for (const auto& one : table().all) post(*one, passed.number, passed.details);
}

// What is sent to the number of a rank, with the table's lock held. Faults, and what is the process's, go to that.
void give_to_rank(const passed_signal& passed) {
  const int number = passed.number;
  if (!is_for_ranks(number)) {
    ::syscall(SYS_kill, getpid(), number);
    return;
  }
  rank_signals* const to = signals_of(passed.rank);
  if (to == nullptr) return;  // It has ended.
  const struct sigaction& action = to->actions[static_cast<std::size_t>(number)];
  const bool is_awaited = std::ranges::any_of(table().waiting, [&](const waiting_thread& one) {
    return one.of == to && (one.wanted & bit_of(number)) != 0;
  });
  if (is_handler(action) || is_awaited ||
      (to->blocked.load(std::memory_order_relaxed) & bit_of(number)) != 0)
    return post(*to, number, passed.details);
  if (action.sa_handler == SIG_IGN) return;
  if (!ends_process_by_default(number)) return do_default(number);
  // Something of the process may handle it where no rank does, such as the thread that gives reports.
  struct sigaction now {};
  kernel_action()(number, nullptr, &now);
  if (is_handler(now) && (table().taken & bit_of(number)) == 0) {
    ::syscall(SYS_kill, getpid(), number);
    return;
  }
  const char* const name = sigabbrev_np(number);
  log_line("rank {} was sent {}{}, for which it has no handler, which ends the job",
           to->rank->number, name != nullptr ? "SIG" : "signal ",
           name != nullptr ? name : std::to_string(number));
  do_default(number);
}
void give_to_parent(int rank, const siginfo_t& details) {
  const bool has_ended = details.si_code == CLD_EXITED || details.si_code == CLD_KILLED ||
                         details.si_code == CLD_DUMPED;
  for (const auto& one : table().all) {
    if (one->rank->number != rank) continue;
    const struct sigaction& action = one->actions[SIGCHLD];
    // Nobody is to wait for it: the kernel does the same for a process.
    if (has_ended && ((action.sa_flags & SA_NOCLDWAIT) != 0 ||
                      (!is_handler(action) && action.sa_handler == SIG_IGN)))
      ::syscall(SYS_wait4, details.si_pid, nullptr, WNOHANG, nullptr);
    if (has_ended || (action.sa_flags & SA_NOCLDSTOP) == 0) post(*one, SIGCHLD, details);
  }
}

// A thread that is in the middle of weft's code, or the C library's, is soon out of it; else it waits, and is asked as
// seldom as that takes time of others.
constexpr std::int64_t urge_again_ns = 5'000'000, urge_soon_ns = 500'000;
constexpr int urged_soon_max = 40;
// The end of a placeholder comes with no signal.
constexpr std::int64_t killed_looked_for_ns = 500'000'000;

void* pass_on(void*) {
  pthread_setname_np(pthread_self(), "weft-signals");
  int urged = 0;  // Ranks have been urged so often in a row.
  for (;;) {
    std::int64_t left;
    {
      const std::lock_guard hold(table().lock);
      left = ring_timers(now_ns());
      look_for_killed_numbers();
      if (has_numbers())
        left = left < 0 ? killed_looked_for_ns : std::min(left, killed_looked_for_ns);
      if (!urge_ranks(urged % 10 == 0 || urged >= urged_soon_max)) {
        urged = 0;
      } else {
        const std::int64_t again = urged < urged_soon_max ? urge_soon_ns : urge_again_ns;
        left = left < 0 ? again : std::min(left, again);
        ++urged;
      }
    }
    pollfd end{passing[0], POLLIN, 0};
    const timespec most{left / 1'000'000'000, left % 1'000'000'000};
    if (::syscall(SYS_ppoll, &end, 1, left < 0 ? nullptr : &most, nullptr, 0) <= 0) continue;
    passed_signal passed;
    urged = 0;
    while (::syscall(SYS_read, passing[0], &passed, sizeof passed) == sizeof passed)
      if (passed.number != 0) {
        const std::lock_guard hold(table().lock);
        if (passed.number == wants_number)
          make_number(passed.rank);
        else if (passed.rank >= 0)
          give_to_rank(passed);
        else if (passed.number != SIGCHLD || next_ended_child == nullptr)
          give_to_ranks(passed);
        else
          tell_parents(passed.details);
      }
  }
}

// Looks outwards from the frame where the worker's thread was interrupted: code of weft before any of the program means
// that it is in the middle of a call, code of the C library that it may have a lock of the allocator or of a stream, which what
// a handler calls of weft may take. The handler runs later.
struct interrupted_code {
  std::uintptr_t interrupted;
  bool is_below = false;
  bool is_in_program = false;
};
_Unwind_Reason_Code look_at_frame(_Unwind_Context* context, void* argument) {
  auto& found = *static_cast<interrupted_code*>(argument);
  const std::uintptr_t at = _Unwind_GetIP(context);
  if (!found.is_below) {
    found.is_below = at == found.interrupted;
    if (!found.is_below) return _URC_NO_REASON;
  }
  const void* const code = reinterpret_cast<const void*>(at);
  if (is_private_code(code)) {
    found.is_in_program = true;
    return _URC_NORMAL_STOP;
  }
  return is_code_of_weft(code) || is_code_of_libc(code) ? _URC_NORMAL_STOP : _URC_NO_REASON;
}

// A system call that the handler interrupts, and that is to be made again: not when the rank's handler does not say so.
void end_system_call(ucontext_t& interrupted) noexcept {
#if defined(__x86_64__)
  auto& registers = interrupted.uc_mcontext.gregs;
  const auto* const next = reinterpret_cast<const unsigned char*>(registers[REG_RIP]);
  // RCX shows that the kernel has led it back there: this is not a call that is yet to be made.
  if (next[0] != 0x0f || next[1] != 0x05 || registers[REG_RCX] != registers[REG_RIP] + 2) return;
  registers[REG_RIP] += 2;
  registers[REG_RAX] = -EINTR;
#else
  static_cast<void>(interrupted);
#endif
}

void on_relay(ucontext_t& interrupted) {
  const worker* const here = worker::current();
  if (here != nullptr) is_sent_to(*here).store(false, std::memory_order_relaxed);
  if (here == nullptr || worker::caller() == nullptr || worker::in_chunk()) return;
  if (here->is_shared() && here->has_attached_thread()) return;
  rank_signals* const mine = signals_of_caller();
  if (mine == nullptr || mine->kept_back != 0 || !can_run(*mine)) return;
  const kept_errno kept;
#if defined(__x86_64__)
  interrupted_code found{static_cast<std::uintptr_t>(interrupted.uc_mcontext.gregs[REG_RIP])};
#else
  interrupted_code found{static_cast<std::uintptr_t>(interrupted.uc_mcontext.pc)};
#endif
  _Unwind_Backtrace(&look_at_frame, &found);
  if (!found.is_in_program) return;
  ++mine->in_the_middle;
  const bool restarts = run_handlers(*mine);
  if (mine->in_the_middle > 0) --mine->in_the_middle;
  if (!restarts) end_system_call(interrupted);
}

void on_call(fiber& self) {
  self.is_called = false;
  rank_signals* const mine = signals_of_caller();
  if (mine == nullptr || mine->kept_back != 0 || mine->is_in_wait) return;
  worker& here = *worker::current();
  const bool was_inside = here.is_shared();
  if (was_inside) here.leave_shared();
  mine->is_in_wait = true;
  const bool leaves = _setjmp(mine->out_of_wait) != 0;
  if (!leaves) run_handlers(*mine);
  mine->is_in_wait = false;
  if (was_inside) (void)here.enter_shared();
  if (leaves) throw job_stopped{};
}

bool is_in_the_middle() noexcept {
  const rank_signals* const mine = signals_of_caller();
  return mine != nullptr && mine->in_the_middle != 0;
}
bool runs_own_handlers() noexcept {
  return signals_of_caller() != nullptr;
}
bool has_own_handlers_to_run() noexcept {
  const rank_signals* const mine = signals_of_caller();
  return mine != nullptr && can_run(*mine);
}
void run_own_handlers() {
  if (rank_signals* const mine = signals_of_caller(); mine != nullptr) run_handlers(*mine);
}
constexpr signal_hooks hooks_of_ranks{&leave_handler_in_wait, &is_in_the_middle, &runs_own_handlers,
                                      &has_own_handlers_to_run, &run_own_handlers};

thread_local constinit bool takes_relays = false;

void look_for_calls_of(worker& here) noexcept {
  if (!has_signals_of_ranks()) return;
  accept_relays();
  here.each_fiber([&](fiber& f) {
    const auto* const rank = static_cast<const detail::job_rank*>(f.identity);
    if (rank == nullptr || &rank->main != &f) return;
    const rank_signals* const its = signals_of(rank->number);
    if (its != nullptr && can_run(*its)) here.call(f);
  });
}

}  // namespace

void on_signal_of_process(int number, siginfo_t* details, void*) {
  const kept_errno kept;
  passed_signal passed{number};
  if (details != nullptr) passed.details = *details;
  passed.details.si_signo = number;
  write_passed(passed);
}

void pass_to_rank(int rank, int number, const siginfo_t& details) noexcept {
  const kept_errno kept;
  passed_signal passed{number, rank, details};
  passed.details.si_signo = number;
  write_passed(passed);
}
void ask_for_number(int rank) noexcept {
  write_passed({wants_number, rank});
}
int passing_end() noexcept {
  return passing[1];
}

void tell_parents(const siginfo_t& details) {
  if (next_ended_child == nullptr) return;
  int rank = rank_of_child(details.si_pid);
  if (rank >= 0 && (details.si_code == CLD_STOPPED || details.si_code == CLD_CONTINUED ||
                    details.si_code == CLD_TRAPPED))
    give_to_parent(rank, details);
  siginfo_t ended = details;
  while (const int child = next_ended_child(&rank)) {
    if (child != details.si_pid) ended.si_code = CLD_EXITED;
    ended.si_pid = child;
    give_to_parent(rank, ended);
  }
}

void set_children(int (*rank_of)(int child), int (*next_ended)(int* rank)) noexcept {
  rank_of_child = rank_of;
  next_ended_child = next_ended;
}

void look_again() noexcept {
  write_passed({0});
}

void look_for_child(int child) noexcept {
  const weft::kept_errno kept;
  passed_signal passed{SIGCHLD};
  passed.details.si_signo = SIGCHLD;
  passed.details.si_code = CLD_EXITED;
  passed.details.si_pid = child;
  write_passed(passed);
}

void accept_relays() noexcept {
  if (!std::exchange(takes_relays, true)) accept_own_signal();
}

void forget_passing() noexcept {
  for (const int end : passing) ::syscall(SYS_close, end);
}

void begin_passing() {
  if (::pipe2(passing, O_CLOEXEC | O_NONBLOCK) != 0)
    throw error(
        "there is no pipe for signals of ranks: raise the number of open files (ulimit -n)");
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  static auto* const create = next_definition<decltype(::pthread_create)>("pthread_create");
  sigset_t all;
  sigfillset(&all);
  pthread_t made;
  int failed;
  {
    const blocked_signals none(all);
    failed = create(&made, &attributes, &pass_on, nullptr);
  }
  pthread_attr_destroy(&attributes);
  if (failed != 0) {
    forget_passing();
    throw error("there is no thread for signals of ranks: raise the number of threads (ulimit -u)");
  }
  set_relay(&on_relay);
  set_signal_hooks(hooks_of_ranks);
  worker::hooks.answer = &on_call;
  worker::hooks.look = &look_for_calls_of;
}

std::uint64_t times_interrupted() noexcept {
  const rank_signals* const mine = signals_of_caller();
  return mine != nullptr ? mine->interrupted.load(std::memory_order_relaxed) : 0;
}

bool has_handlers_to_run(const rank_signals& mine) noexcept {
  return can_run(mine);
}

handlers_kept_back::handlers_kept_back(rank_signals* mine) noexcept : mine_(mine) {
  if (mine_ != nullptr) ++mine_->kept_back;
}
handlers_kept_back::~handlers_kept_back() {
  if (mine_ != nullptr) --mine_->kept_back;
}

bool run_handlers(rank_signals& mine) {
  bool restarts = true;
  if (mine.depth == 0)
    mine.blocked_outside = mine.has_call_mask ? mine.blocked_before_call
                                              : mine.blocked.load(std::memory_order_relaxed);
  for (;;) {
    if (mine.call.load(std::memory_order_relaxed) != nullptr) {
      // The one who asks at this moment is served when the rank is urged again.
      if (!mine.details_lock.try_lock()) return restarts;
      void (*const call)(void*) = mine.call.exchange(nullptr, std::memory_order_relaxed);
      void* const argument = mine.argument;
      mine.details_lock.unlock();
      const int depth = mine.depth++;
      call(argument);
      mine.depth = depth;
    }
    const std::uint64_t blocked = mine.blocked.load(std::memory_order_relaxed);
    const std::uint64_t ready = mine.pending.load(std::memory_order_relaxed) & ~blocked;
    if (ready == 0) return restarts;
    const int number = std::countr_zero(ready) + 1;
    // The one who sends at this moment urges again.
    if (!mine.details_lock.try_lock()) return restarts;
    siginfo_t details = mine.details[static_cast<std::size_t>(number)];
    mine.pending.fetch_and(~bit_of(number), std::memory_order_relaxed);
    mine.details_lock.unlock();
    const struct sigaction action = mine.actions[static_cast<std::size_t>(number)];
    if (!is_handler(action)) {
      if (action.sa_handler != SIG_IGN) do_default(number);
      continue;
    }
    restarts = restarts && (action.sa_flags & SA_RESTART) != 0;
    if ((action.sa_flags & SA_RESETHAND) != 0) {
      const std::lock_guard hold(table().lock);
      mine.actions[static_cast<std::size_t>(number)] = {};
      choose_action(number);
    }
    mine.blocked.store((blocked | bits_of(action.sa_mask) |
                        ((action.sa_flags & SA_NODEFER) != 0 ? 0 : bit_of(number))) &
                           ~never_blocked,
                       std::memory_order_relaxed);
    const int depth = mine.depth++;
    mine.handled.fetch_add(1, std::memory_order_relaxed);
    if ((action.sa_flags & SA_RESTART) == 0)
      mine.interrupted.fetch_add(1, std::memory_order_relaxed);
    const int before = errno;
    if ((action.sa_flags & SA_SIGINFO) != 0) {
      ucontext_t none{};
      action.sa_sigaction(number, &details, &none);
    } else {
      action.sa_handler(number);
    }
    errno = before;
    mine.depth = depth;  // A jump within the handler may have changed it.
    mine.blocked.store(blocked, std::memory_order_relaxed);
  }
}

void leave_handler_in_wait() {
  const auto* const rank = static_cast<const detail::job_rank*>(worker::caller());
  if (rank == nullptr || is_forked_child()) return;
  rank_signals* mine = signals_of(rank->number);
  if (mine == nullptr) mine = forgotten_signals_of(*rank);
  if (mine == nullptr) return;
  mine->depth = 0;
  mine->in_the_middle = 0;
  mine->has_call_mask = false;
  if (mine->is_in_wait) _longjmp(mine->out_of_wait, 1);
}

}  // namespace weft::process
