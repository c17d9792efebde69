// Signals of ranks that share a process, in libweft.so. Each rank has handlers, a mask, pending signals and timers of its
// own; the kernel's handler for the process only passes on what comes, to a thread that gives it to all ranks that want it.
//
// A rank's handler runs on the rank's own stack: at once, by the signal that weft keeps for itself, when the worker's
// thread is in the program's code; in the wait, when the rank waits; else at the next of these, which the thread looks
// for again and again. A call that blocks, or sleeps, is left first, as the kernel does it.
//
//   a rank's own     actions, depth: by the rank and its threads, under `lock`; mask and pending by everybody, atomics
//   the process's    the table of ranks and timers: under `table.lock`, never held across a wait, nor by a handler
#include "program/rank_signals.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/blocked_signals.hpp"
#include "base/clock.hpp"
#include "base/forked_child.hpp"
#include "base/kept_errno.hpp"
#include "base/kernel.hpp"
#include "base/library_function.hpp"
#include "base/private_code.hpp"
#include "job/caller.hpp"
#include "program/moved_calls.h"
#include "program/program.h"
#include "program/program_run.hpp"
#include "program/rank_signals.hpp"
#include "sched/scheduler.hpp"
#include "sched/worker.hpp"
#include "sync/published.hpp"
#include "weft/run.hpp"

namespace weft::detail {

constexpr int signals_max = 64;

struct rank_signals {
  const job_rank* rank = nullptr;
  std::array<struct sigaction, signals_max + 1> actions{};
  std::array<siginfo_t, signals_max + 1> details{};
  std::mutex details_lock;  // Never waited for by a handler.
  // Bit n - 1 for signal n. Relaxed: what the sender has written before is seen under the lock.
  std::atomic<std::uint64_t> pending{0}, blocked{0};
  // Handlers that have run, and of these without SA_RESTART. Relaxed: of the rank's own thread, and handlers there.
  std::atomic<std::uint64_t> handled{0}, interrupted{0};
  bool has_ended = false;  // Under the table's lock. A thread of the rank may come after it.
  // Of the rank's own thread.
  int kept_back = 0;
  int depth = 0;  // Of handlers that run.
  // Of handlers that have interrupted the rank's code wherever it was, with a lock of the allocator perhaps: until they
  // are over nobody else may run on the worker.
  int in_the_middle = 0;
  std::uint64_t blocked_outside = 0;
  bool has_call_mask = false;  // A mask for the time of a call is in place of this one:
  std::uint64_t blocked_before_call = 0;
  bool is_in_wait = false;  // Handlers run within a wait of weft.
  std::jmp_buf out_of_wait;
  bool restarts = true;
};

namespace {

constexpr std::uint64_t bit_of(int number) noexcept {
  return std::uint64_t{1} << (number - 1);
}
// The kernel's set is the first word of the C library's.
static_assert(sizeof(sigset_t) >= sizeof(std::uint64_t));
std::uint64_t bits_of(const sigset_t& set) noexcept {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &set, sizeof bits);
  return bits;
}
void set_bits(std::uint64_t bits, sigset_t& set) noexcept {
  sigemptyset(&set);
  std::memcpy(&set, &bits, sizeof bits);
}
constexpr std::uint64_t never_blocked = std::uint64_t{1} << (SIGKILL - 1) | std::uint64_t{1}
                                                                                << (SIGSTOP - 1);

// Those of faults are the thread's that causes them.
constexpr bool is_for_ranks(int number) noexcept {
  switch (number) {
    case SIGSEGV:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGTRAP:
    case SIGABRT:
    case SIGSYS:
    case SIGKILL:
    case SIGSTOP:
      return false;
    default:
      return number > 0 && number <= signals_max;
  }
}

bool is_nothing_by_default(int number) noexcept {
  return number == SIGCHLD || number == SIGURG || number == SIGWINCH || number == SIGCONT;
}

bool is_handler(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

struct timer {
  int id = 0;  // 0 is the rank's alarm.
  rank_signals* of = nullptr;
  int number = SIGALRM;
  sigval value{};
  std::uint64_t due_ns = 0;  // 0: it is not set.
  std::uint64_t every_ns = 0;
};

struct process_signals {
  std::mutex lock;
  std::vector<std::unique_ptr<rank_signals>> all;    // Of ranks that have not ended.
  std::vector<std::unique_ptr<rank_signals>> ended;  // A thread of such a rank may still have it.
  std::vector<timer> timers;
  int timers_made = 0;
  std::array<struct sigaction, signals_max + 1> before{};  // The process's, where ours is in place.
  std::uint64_t taken = 0;                                 // Signals of which ours is.
};
process_signals& table() {
  static process_signals& all = *new process_signals;
  return all;
}
// By the number of the rank, for handlers. Made once.
constinit published<std::atomic<rank_signals*>*> by_number;
constinit int passing[2] = {-1,
                            -1};  // What the kernel's handler writes to the thread that passes on.
int (*rank_of_child)(int child) = nullptr;
int (*next_ended_child)(int* rank) = nullptr;

decltype(::sigaction)* kernel_action() {
  static auto* const next = next_definition<decltype(::sigaction)>("sigaction");
  return next;
}

bool can_run(const rank_signals& one) noexcept {
  return (one.pending.load(std::memory_order_relaxed) &
          ~one.blocked.load(std::memory_order_relaxed)) != 0;
}

struct passed_signal {
  int number;  // 0: look at the timers again.
  siginfo_t details;
};
static_assert(sizeof(passed_signal) <= PIPE_BUF);

void on_signal_of_process(int number, siginfo_t* details, void*) {
  const kept_errno kept;
  passed_signal passed{number, {}};
  if (details != nullptr) passed.details = *details;
  passed.details.si_signo = number;
  static_cast<void>(::syscall(SYS_write, passing[1], &passed, sizeof passed));
}

// What the process is to do with a signal: with the table's lock held.
void choose_action(int number) {
  bool any = false, ignored = false;
  for (const auto& one : table().all) {
    const struct sigaction& action = one->actions[static_cast<std::size_t>(number)];
    any |=
        is_handler(action) || (one->blocked.load(std::memory_order_relaxed) & bit_of(number)) != 0;
    ignored |= !is_handler(action) && action.sa_handler == SIG_IGN;
  }
  // The kernel would collect the children of all.
  if (number == SIGCHLD) any |= ignored;
  struct sigaction& before = table().before[static_cast<std::size_t>(number)];
  const bool is_taken = (table().taken & bit_of(number)) != 0;
  if (!any && !ignored) {
    if (is_taken) kernel_action()(number, &before, nullptr);
    table().taken &= ~bit_of(number);
    return;
  }
  struct sigaction ours {};
  sigfillset(&ours.sa_mask);
  if (any) {
    ours.sa_sigaction = &on_signal_of_process;
    ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  } else {
    ours.sa_handler = SIG_IGN;
  }
  kernel_action()(number, &ours, is_taken ? nullptr : &before);
  table().taken |= bit_of(number);
}

// What the kernel does with a signal that nobody handles. Returns when that does not end the process.
void do_default(int number) {
  if (is_nothing_by_default(number)) return;
  if (number == SIGTSTP || number == SIGTTIN || number == SIGTTOU) {
    ::syscall(SYS_kill, getpid(), SIGSTOP);
    return;
  }
  struct sigaction end {};
  kernel_action()(number, &end, nullptr);
  weft_raises(number);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  ::syscall(SYS_tgkill, getpid(), gettid(), number);
}

// With the table's lock held, or by the rank itself. Another that sends at the same time is waited for.
void post(rank_signals& to, int number, const siginfo_t& details) noexcept {
  const struct sigaction& action = to.actions[static_cast<std::size_t>(number)];
  const bool is_blocked = (to.blocked.load(std::memory_order_relaxed) & bit_of(number)) != 0;
  if (!is_blocked && !is_handler(action)) return;
  const std::lock_guard hold(to.details_lock);
  to.details[static_cast<std::size_t>(number)] = details;
  to.pending.fetch_or(bit_of(number), std::memory_order_relaxed);
}

// Whether a worker's thread is sent the signal that weft keeps, and has not taken it: several would lie on each other.
// Relaxed: the kernel orders a signal and its handler.
constexpr std::size_t workers_told_max = 4096;
constinit std::array<std::atomic<bool>, workers_told_max> is_sent{};
std::atomic<bool>& is_sent_to(const worker& w) noexcept {
  return is_sent[static_cast<std::size_t>(w.index()) % workers_told_max];
}

// With the lock held. Whether some rank has yet to run a handler.
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
void give_to_parent(int rank, const siginfo_t& details) {
  const bool has_ended = details.si_code == CLD_EXITED || details.si_code == CLD_KILLED ||
                         details.si_code == CLD_DUMPED;
  for (const auto& one : table().all) {
    if (one->rank->number != rank) continue;
    const struct sigaction& action = one->actions[SIGCHLD];
    // As the kernel does it for a process: nobody is to wait for it.
    if (has_ended && ((action.sa_flags & SA_NOCLDWAIT) != 0 ||
                      (!is_handler(action) && action.sa_handler == SIG_IGN)))
      ::syscall(SYS_wait4, details.si_pid, nullptr, WNOHANG, nullptr);
    if (has_ended || (action.sa_flags & SA_NOCLDSTOP) == 0) post(*one, SIGCHLD, details);
  }
}

// Of several children that end at one time the kernel tells once, and one may end before whoever has started it has said
// that it is his, who then asks for this again. With the table's lock held.
void tell_parents(const siginfo_t& details) {
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

// The time until the next is due; -1: none is.
std::int64_t ring_timers(std::uint64_t now) {
  std::int64_t left = -1;
  for (timer& t : table().timers) {
    if (t.due_ns == 0) continue;
    if (t.due_ns <= now) {
      siginfo_t details{};
      details.si_signo = t.number;
      details.si_code = t.id == 0 ? SI_KERNEL : SI_TIMER;
      details.si_value = t.value;
      const struct sigaction& action = t.of->actions[static_cast<std::size_t>(t.number)];
      const bool is_default =
          !is_handler(action) && action.sa_handler == SIG_DFL &&
          (t.of->blocked.load(std::memory_order_relaxed) & bit_of(t.number)) == 0;
      if (is_default) {  // As in a process of its own: it ends, and with it the job.
        std::fprintf(
            stderr,
            "weft: a timer of rank %d sent SIG%s, for which the rank has no handler, which ends the job\n",
            t.of->rank->number, sigabbrev_np(t.number));
        std::fflush(stderr);
        do_default(t.number);
      }
      post(*t.of, t.number, details);
      t.due_ns = t.every_ns == 0 ? 0 : std::max(t.due_ns + t.every_ns, now + 1);
      if (t.due_ns == 0) continue;
    }
    const auto until = static_cast<std::int64_t>(t.due_ns - now);
    left = left < 0 ? until : std::min(left, until);
  }
  return left;
}

// A thread that is in the middle of weft's code, or the C library's, is soon out of it; else it waits, and is asked as
// seldom as that takes time of others.
constexpr std::int64_t urge_again_ns = 5'000'000, urge_soon_ns = 500'000;
constexpr int urged_soon_max = 40;

void* pass_on(void*) {
  pthread_setname_np(pthread_self(), "weft-signals");
  int urged = 0;  // So often in a row.
  for (;;) {
    std::int64_t left;
    {
      const std::lock_guard hold(table().lock);
      left = ring_timers(now_ns());
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
        if (passed.number != SIGCHLD || next_ended_child == nullptr)
          give_to_ranks(passed);
        else
          tell_parents(passed.details);
      }
  }
}
void look_at_timers() noexcept {
  const passed_signal nothing{};
  static_cast<void>(::syscall(SYS_write, passing[1], &nothing, sizeof nothing));
}

// Looks from the place where the worker's thread was interrupted outwards: code of weft before any of the program means
// that it is in the middle of a call, code of the C library that it may have a lock of the allocator or of a stream, which what
// a handler calls of weft may take. The handler runs later.
struct place_of_thread {
  std::uintptr_t interrupted;
  bool is_below = false;
  bool is_in_program = false;
};
_Unwind_Reason_Code look_at_frame(_Unwind_Context* context, void* argument) {
  auto& place = *static_cast<place_of_thread*>(argument);
  const std::uintptr_t at = _Unwind_GetIP(context);
  if (!place.is_below) {
    place.is_below = at == place.interrupted;
    if (!place.is_below) return _URC_NO_REASON;
  }
  const void* const code = reinterpret_cast<const void*>(at);
  if (is_private_code(code)) {
    place.is_in_program = true;
    return _URC_NORMAL_STOP;
  }
  return is_code_of_weft(code) || is_code_of_libc(code) ? _URC_NORMAL_STOP : _URC_NO_REASON;
}

// A system call that the handler interrupts, and that is to be made again: not when the rank's handler does not say so.
void end_system_call(ucontext_t& interrupted) noexcept {
#if defined(__x86_64__)
  auto& registers = interrupted.uc_mcontext.gregs;
  const auto* const next = reinterpret_cast<const unsigned char*>(registers[REG_RIP]);
  // Where the kernel has led it back to, whose trace is in RCX: not a call that is yet to be made.
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
  place_of_thread place{static_cast<std::uintptr_t>(interrupted.uc_mcontext.gregs[REG_RIP])};
#else
  place_of_thread place{static_cast<std::uintptr_t>(interrupted.uc_mcontext.pc)};
#endif
  _Unwind_Backtrace(&look_at_frame, &place);
  if (!place.is_in_program) return;
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
  std::atomic<rank_signals*>* const all = by_number.value();
  if (all == nullptr) return;
  if (!std::exchange(takes_relays, true)) accept_own_signal();
  here.each_fiber([&](fiber& f) {
    const auto* const rank = static_cast<const job_rank*>(f.identity);
    if (rank == nullptr || &rank->main != &f) return;
    const rank_signals* const its = all[rank->number].load(std::memory_order_relaxed);
    if (its != nullptr && can_run(*its)) here.call(f);
  });
}

// A child has its parent's handlers itself, and nobody who would pass on.
void begin_child() {
  const std::atomic<rank_signals*>* const all = by_number.hint();
  if (all == nullptr) return;
  const auto* const rank = static_cast<const job_rank*>(worker::identity());
  const rank_signals* const mine =
      rank != nullptr ? all[rank->number].load(std::memory_order_relaxed) : nullptr;
  for (int n = 1; n <= signals_max; ++n)
    if ((table().taken & bit_of(n)) != 0) {
      struct sigaction own {};
      if (mine != nullptr) own = mine->actions[static_cast<std::size_t>(n)];
      kernel_action()(n, &own, nullptr);
    }
  sigset_t mask;
  set_bits(mine != nullptr ? mine->blocked.load(std::memory_order_relaxed) : 0, mask);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  for (const int end : passing) ::syscall(SYS_close, end);
  table().lock.unlock();
}

// Once in a process. With the table's lock held.
void begin_passing(const job& of) {
  if (by_number.hint() != nullptr) return;
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
  if (failed != 0)
    throw error("there is no thread for signals of ranks: raise the number of threads (ulimit -u)");
  ::pthread_atfork([] { table().lock.lock(); }, [] { table().lock.unlock(); }, &begin_child);
  set_relay(&on_relay);
  set_signal_hooks(hooks_of_ranks);
  worker::hooks.answer = &on_call;
  worker::hooks.look = &look_for_calls_of;
  by_number.publish(new std::atomic<rank_signals*>[of.places.size()] {});
}

// Of the calling rank, also on threads that it has made: made when it is first asked for.
rank_signals& own_signals(const job_rank& rank) {
  if (const std::atomic<rank_signals*>* const all = by_number.value())
    if (rank_signals* const there = all[rank.number].load(std::memory_order_relaxed)) return *there;
  const std::lock_guard hold(table().lock);
  begin_passing(*rank.of);
  std::atomic<rank_signals*>& place = by_number.hint()[rank.number];
  if (rank_signals* const there = place.load(std::memory_order_relaxed)) return *there;
  for (const auto& one : table().ended)
    if (one->rank == &rank) return *one;
  auto made = std::make_unique<rank_signals>();
  made->rank = &rank;
  for (int n = 1; n <= signals_max; ++n) {
    // What the process began with, as far as that is to ignore it.
    struct sigaction now {};
    if ((table().taken & bit_of(n)) != 0)
      now = table().before[static_cast<std::size_t>(n)];
    else
      kernel_action()(n, nullptr, &now);
    if (!is_handler(now)) made->actions[static_cast<std::size_t>(n)].sa_handler = now.sa_handler;
  }
  if (state_of_caller() != nullptr && !std::exchange(takes_relays, true)) accept_own_signal();
  place.store(made.get(), std::memory_order_relaxed);
  table().all.push_back(std::move(made));
  return *table().all.back();
}

timer* find_timer(const rank_signals& mine, int id) {
  const auto found = std::ranges::find_if(
      table().timers, [&](const timer& t) { return t.of == &mine && t.id == id; });
  return found == table().timers.end() ? nullptr : &*found;
}

std::uint64_t ns_of(const timespec& time) noexcept {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}
timespec time_of(std::uint64_t ns) noexcept {
  return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

// Waits until `holds()` or for so long at most, and no handler runs meanwhile. Where a signal is to be handled it ends, too.
template <class Holds>
void wait_for_signal(rank_signals& mine, const Holds& holds, std::uint64_t most_ns,
                     const char* call) {
  if (mine.in_the_middle != 0) return sleep_in_kernel(std::chrono::microseconds(200));
  worker& here = *worker::current();
  const shared_section inside(here);
  const handlers_kept_back kept(&mine);
  const wait_description description{.call = call, .ends_by_itself = true};
  here.wait_until([&] { return holds() || can_run(mine); }, most_ns, description);
}
constexpr std::uint64_t long_ns = 1'000'000'000'000'000;  // Eleven days.

// Of the program, which is the only rank of its process.
bool has_handler_of_kernel() {
  const kept_errno kept;  // The C library refuses to tell of its own signals.
  for (int n = 1; n <= signals_max; ++n) {
    struct sigaction now {};
    if (is_for_ranks(n) && kernel_action()(n, nullptr, &now) == 0 && is_handler(now) &&
        !is_code_of_weft(reinterpret_cast<const void*>(now.sa_handler)))
      return true;
  }
  return false;
}
// As the kernel sleeps, which a handler ends, but what comes from other processes is seen meanwhile, where there are any.
constexpr std::uint64_t part_ns_max = 1'000'000;
long long sleep_in_parts(std::uint64_t duration_ns) {
  const std::uint64_t until = now_ns() + duration_ns;
  // Handlers run in the parts alone: none is missed.
  struct kept_mask {
    sigset_t before{};
    kept_mask() noexcept {
      sigset_t all;
      sigfillset(&all);
      for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT})
        sigdelset(&all, fault);
      pthread_sigmask(SIG_BLOCK, &all, &before);
    }
    ~kept_mask() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
    kept_mask(const kept_mask&) = delete;
    kept_mask& operator=(const kept_mask&) = delete;
  } const kept;
  const auto* const me = static_cast<const job_rank*>(worker::caller());
  const bool is_alone = me->of->places.size() == 1 && !worker::current()->has_others();
  for (std::uint64_t now; (now = now_ns()) < until;) {
    const timespec part = time_of(is_alone ? until - now : std::min(until - now, part_ns_max));
    if (::syscall(SYS_ppoll, nullptr, 0, &part, &kept.before, _NSIG / 8) != 0 && errno == EINTR) {
      now = now_ns();
      return now < until ? static_cast<long long>(until - now) : 0;
    }
    if (!is_alone) yield();
  }
  return 0;
}

}  // namespace

rank_signals* signals_of_caller() noexcept {
  std::atomic<rank_signals*>* const all = by_number.value();
  if (all == nullptr || worker::caller() == nullptr) return nullptr;
  rank_signals* const mine =
      all[static_cast<const job_rank*>(worker::caller())->number].load(std::memory_order_relaxed);
  return mine == nullptr || is_forked_child() ? nullptr : mine;
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
    const std::uint64_t blocked = mine.blocked.load(std::memory_order_relaxed);
    const std::uint64_t ready = mine.pending.load(std::memory_order_relaxed) & ~blocked;
    if (ready == 0) return restarts;
    const int number = std::countr_zero(ready) + 1;
    // Whoever sends at this moment urges again.
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
    ++mine.depth;
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
    --mine.depth;
    mine.blocked.store(blocked, std::memory_order_relaxed);
  }
}

void leave_handler_in_wait() {
  rank_signals* const mine = signals_of_caller();
  if (mine == nullptr) return;
  mine->depth = 0;
  mine->in_the_middle = 0;
  mine->has_call_mask = false;
  if (mine->is_in_wait) _longjmp(mine->out_of_wait, 1);
}

}  // namespace weft::detail

using namespace weft::detail;

extern "C" {

int weft_has_own_signal(int number) {
  return is_for_ranks(number) && !weft::is_forked_child() && has_copy() ? 1 : 0;
}

int weft_is_wefts_signal(int number) {
  return number == own_signal() ? 1 : 0;
}

int weft_is_ranks_own_thread(void) {
  return weft::worker::caller() != nullptr ? 1 : 0;
}

int weft_own_action(int number, const struct sigaction* action, struct sigaction* before) {
  const rank_of_caller caller;
  rank_signals& mine = own_signals(*caller.get());
  const std::lock_guard hold(table().lock);
  struct sigaction& now = mine.actions[static_cast<std::size_t>(number)];
  if (before != nullptr) *before = now;
  if (action == nullptr) return 0;
  // Those that have ended before it has a handler.
  siginfo_t nothing{};
  nothing.si_signo = SIGCHLD;
  nothing.si_code = CLD_EXITED;
  if (number == SIGCHLD && next_ended_child != nullptr) tell_parents(nothing);
  now = *action;
  if (!is_handler(now))
    mine.pending.fetch_and(now.sa_handler == SIG_IGN ? ~bit_of(number) : ~std::uint64_t{0},
                           std::memory_order_relaxed);
  choose_action(number);
  return 0;
}

int weft_own_mask(int how, const sigset_t* set, sigset_t* before) {
  const rank_of_caller caller;
  rank_signals& mine = own_signals(*caller.get());
  const std::uint64_t now = mine.blocked.load(std::memory_order_relaxed);
  if (before != nullptr) set_bits(now, *before);
  if (set == nullptr) return 0;
  const std::uint64_t bits = bits_of(*set);
  if (how != SIG_BLOCK && how != SIG_UNBLOCK && how != SIG_SETMASK) return EINVAL;
  const std::uint64_t wanted = (how == SIG_BLOCK     ? now | bits
                                : how == SIG_UNBLOCK ? now & ~bits
                                                     : bits) &
                               ~never_blocked;
  {
    const std::lock_guard hold(table().lock);
    mine.blocked.store(wanted, std::memory_order_relaxed);
    for (std::uint64_t changed = now ^ wanted; changed != 0; changed &= changed - 1) {
      const int number = std::countr_zero(changed) + 1;
      if (weft_has_own_signal(number) != 0 && number != own_signal()) choose_action(number);
    }
  }
  if (signals_of_caller() == &mine && can_run(mine)) run_handlers(mine);
  return 0;
}

void weft_own_pending(sigset_t* set) {
  const rank_of_caller caller;
  const rank_signals& mine = own_signals(*caller.get());
  set_bits(
      mine.pending.load(std::memory_order_relaxed) & mine.blocked.load(std::memory_order_relaxed),
      *set);
}

int weft_begin_mask(const sigset_t* mask, sigset_t* before) {
  const rank_of_caller caller;
  rank_signals& mine = own_signals(*caller.get());
  if (mine.depth == 0) {
    mine.blocked_before_call = mine.blocked.load(std::memory_order_relaxed);
    mine.has_call_mask = true;
  }
  const std::uint64_t handled = mine.handled.load(std::memory_order_relaxed);
  weft_own_mask(SIG_SETMASK, mask, before);
  return mine.handled.load(std::memory_order_relaxed) != handled ? 1 : 0;
}
void weft_end_mask(const sigset_t* before) {
  const weft::kept_errno kept;
  if (rank_signals* const mine = signals_of_caller(); mine != nullptr && mine->depth == 0)
    mine->has_call_mask = false;
  weft_own_mask(SIG_SETMASK, before, nullptr);
}

int weft_run_handlers(int is_noexcept) {
  if (weft::worker::caller() == nullptr || weft::is_forked_child()) return 0;
  weft_check_stopped(is_noexcept);
  rank_signals* const mine = signals_of_caller();
  return mine == nullptr || run_handlers(*mine) ? 1 : 0;
}

int weft_signal_self(int number, const siginfo_t* details) {
  if (weft_has_own_signal(number) == 0) return 0;
  const rank_of_caller caller;
  const std::atomic<rank_signals*>* const all = by_number.value();
  rank_signals* const mine =
      all != nullptr ? all[caller.get()->number].load(std::memory_order_relaxed) : nullptr;
  struct sigaction action {};
  bool is_blocked = false;
  if (mine != nullptr) {
    action = mine->actions[static_cast<std::size_t>(number)];
    is_blocked = (mine->blocked.load(std::memory_order_relaxed) & bit_of(number)) != 0;
  }
  if (!is_blocked && !is_handler(action)) {
    if (mine != nullptr && action.sa_handler == SIG_IGN) return 1;
    {
      const std::lock_guard hold(table().lock);
      if ((table().taken & bit_of(number)) == 0) return 0;  // The kernel does what is to be done.
      const struct sigaction& first = table().before[static_cast<std::size_t>(number)];
      if (mine == nullptr && !is_handler(first) && first.sa_handler == SIG_IGN) return 1;
    }
    // Another rank handles it, or ignores it.
    do_default(number);
    return 1;
  }
  siginfo_t said{};
  if (details != nullptr) said = *details;
  said.si_signo = number;
  if (details == nullptr) {
    said.si_code = SI_TKILL;
    said.si_pid = getpid();
    said.si_uid = getuid();
  }
  {
    const handlers_kept_back kept(mine);
    post(*mine, number, said);
  }
  if (signals_of_caller() == mine)
    run_handlers(*mine);
  else
    look_at_timers();  // A thread of the rank: the thread that passes on urges the rank.
  return 1;
}

void weft_wait_for_handler(const sigset_t* mask) {
  const rank_of_caller caller;
  rank_signals& mine = own_signals(*caller.get());
  sigset_t before;
  const std::uint64_t handled = mine.handled.load(std::memory_order_relaxed);
  const auto has_run = [&] { return mine.handled.load(std::memory_order_relaxed) != handled; };
  if (mask != nullptr) weft_begin_mask(mask, &before);
  while (!has_run()) {
    wait_for_signal(mine, has_run, long_ns, mask != nullptr ? "sigsuspend" : "pause");
    run_handlers(mine);
  }
  if (mask != nullptr) weft_end_mask(&before);
}

int weft_take_signal(const sigset_t* set, siginfo_t* details, const struct timespec* most) {
  const rank_of_caller caller;
  rank_signals& mine = own_signals(*caller.get());
  const std::uint64_t wanted = bits_of(*set);
  const auto is_there = [&] {
    return (mine.pending.load(std::memory_order_relaxed) & wanted) != 0;
  };
  const std::uint64_t until = most != nullptr ? weft::now_ns() + ns_of(*most) : 0;
  for (;;) {
    if (is_there()) {
      const int number =
          std::countr_zero(mine.pending.load(std::memory_order_relaxed) & wanted) + 1;
      const handlers_kept_back kept(&mine);
      const std::lock_guard hold(mine.details_lock);
      if (details != nullptr) *details = mine.details[static_cast<std::size_t>(number)];
      mine.pending.fetch_and(~bit_of(number), std::memory_order_relaxed);
      return number;
    }
    if (can_run(mine)) {
      run_handlers(mine);
      return -1;
    }
    const std::uint64_t now = weft::now_ns();
    if (most != nullptr && now >= until) return 0;
    wait_for_signal(mine, is_there, most != nullptr ? until - now : long_ns, "sigwait");
  }
}

long long weft_sleep_interruptibly(long long duration_ns) {
  if (duration_ns > 0 && has_kernels_signals() && weft::worker::caller() != nullptr &&
      !weft::is_forked_child() && has_handler_of_kernel())
    return sleep_in_parts(static_cast<std::uint64_t>(duration_ns));
  rank_signals* const mine = signals_of_caller();
  if (mine == nullptr || duration_ns <= 0 || mine->in_the_middle != 0) return -1;
  const std::uint64_t until = weft::now_ns() + static_cast<std::uint64_t>(duration_ns);
  const std::uint64_t handled = mine->handled.load(std::memory_order_relaxed);
  const auto has_run = [&] { return mine->handled.load(std::memory_order_relaxed) != handled; };
  for (std::uint64_t now; (now = weft::now_ns()) < until;) {
    wait_for_signal(*mine, has_run, until - now, "sleep");
    run_handlers(*mine);
    if (has_run()) break;
  }
  const std::uint64_t now = weft::now_ns();
  return has_run() && now < until ? static_cast<long long>(until - now) : 0;
}

int weft_make_timer(int number, union sigval value) {
  const rank_of_caller caller;
  rank_signals& mine = own_signals(*caller.get());
  const std::lock_guard hold(table().lock);
  ++table().timers_made;
  if (!mine.has_ended) table().timers.push_back({table().timers_made, &mine, number, value});
  return table().timers_made;
}

int weft_delete_timer(int which) {
  const rank_of_caller caller;
  rank_signals& mine = own_signals(*caller.get());
  const std::lock_guard hold(table().lock);
  return std::erase_if(table().timers,
                       [&](const timer& t) { return t.of == &mine && t.id == which; }) != 0
             ? 0
             : -1;
}

void weft_own_timer(int which, const struct itimerspec* set, struct itimerspec* left) {
  const rank_of_caller caller;
  rank_signals& mine = own_signals(*caller.get());
  {
    const std::lock_guard hold(table().lock);
    timer* at = find_timer(mine, which);
    if (at == nullptr && which == 0 && !mine.has_ended)
      at = &table().timers.emplace_back(timer{.of = &mine});
    const std::uint64_t now = weft::now_ns();
    if (left != nullptr)
      *left =
          at == nullptr || at->due_ns == 0
              ? itimerspec{}
              : itimerspec{time_of(at->every_ns), time_of(at->due_ns > now ? at->due_ns - now : 1)};
    if (set == nullptr || at == nullptr) return;
    const std::uint64_t first = ns_of(set->it_value);
    at->due_ns = first == 0 ? 0 : now + first;
    at->every_ns = ns_of(set->it_interval);
  }
  // Nothing of what the timer was before comes later.
  if (signals_of_caller() == &mine && can_run(mine)) run_handlers(mine);
  look_at_timers();
}

void weft_leaves_handler(int restores_mask) {
  rank_signals* const mine = signals_of_caller();
  if (mine == nullptr || mine->depth == 0) return;
  mine->depth = 0;
  mine->in_the_middle = 0;
  mine->has_call_mask = false;
  mine->is_in_wait = false;
  if (restores_mask != 0) mine->blocked.store(mine->blocked_outside, std::memory_order_relaxed);
}

void weft_look_for_children(int child) {
  if (by_number.hint() == nullptr) return;
  const weft::kept_errno kept;
  passed_signal passed{SIGCHLD, {}};
  passed.details.si_signo = SIGCHLD;
  passed.details.si_code = CLD_EXITED;
  passed.details.si_pid = child;
  static_cast<void>(::syscall(SYS_write, passing[1], &passed, sizeof passed));
}

void weft_forget_signals(int rank) {
  std::atomic<rank_signals*>* const all = by_number.value();
  rank_signals* const its = all != nullptr ? all[rank].load(std::memory_order_relaxed) : nullptr;
  if (its == nullptr) return;
  ++its->kept_back;
  const std::lock_guard hold(table().lock);
  all[rank].store(nullptr, std::memory_order_relaxed);
  std::erase_if(table().timers, [&](const timer& t) { return t.of == its; });
  its->has_ended = true;
  its->pending.store(0, std::memory_order_relaxed);
  const auto at =
      std::ranges::find_if(table().all, [&](const auto& one) { return one.get() == its; });
  table().ended.push_back(std::move(*at));
  table().all.erase(at);
  for (int n = 1; n <= signals_max; ++n)
    if ((table().taken & bit_of(n)) != 0) choose_action(n);
}

void weft_tell_of_reaped_child(int child) {
  const rank_of_caller caller;
  if (by_number.value() == nullptr || caller.get() == nullptr) return;
  siginfo_t details{};
  details.si_signo = SIGCHLD;
  details.si_code = CLD_EXITED;
  details.si_pid = child;
  {
    const std::lock_guard hold(table().lock);
    for (const auto& one : table().all)
      if (one->rank == caller.get()) post(*one, SIGCHLD, details);
  }
  if (signals_of_caller() == nullptr) look_at_timers();  // A thread of the rank: that one is urged.
}
void weft_accept_signals(void) {
  if (!std::exchange(takes_relays, true)) accept_own_signal();
}

void weft_set_children(int (*rank_of)(int child), int (*next_ended)(int* rank)) {
  rank_of_child = rank_of;
  next_ended_child = next_ended;
}
}
