// Handlers that programs, and Fortran's run time among them, set for faults, in libweft.so, where they stand before the C library's.
// Where ranks share a process each has its own, which runs when the rank faults, on the rank's stack; code that ranks share sets the process's,
// which run on the thread's stack for faults. An overflowed stack is told of by weft all the same. Not part of libweft.a.
#include "process/signals/fault_handlers.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>

#include "base/forked_child.hpp"
#include "base/library_function.hpp"
#include "job/caller.hpp"
#include "process/life/running_program.hpp"
#include "process/signals/interrupted_stack.hpp"
#include "process/signals/signals.h"
#include "runtime/monitor.hpp"
#include "sched/worker.hpp"
#include "sync/published.hpp"

namespace weft::process {
namespace {

constexpr std::array fault_numbers{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};

// Relaxed, here and below: set before a rank or the program can cause the fault; else what comes first counts.
struct taken_fault {
  struct sigaction of_program {};  // The process's, where `is_taken`.
  struct sigaction of_weft {};     // What reports faults; what was there, where nothing does.
  std::atomic<bool> is_taken{false};
  std::atomic<int> ranks{0};  // Ranks that handle or ignore it.
};
constinit std::array<taken_fault, fault_numbers.size()> faults{};
std::mutex faults_lock;

// What a rank has said. The handler of a fault reads what its own rank has written.
struct own_faults {
  std::array<struct sigaction, fault_numbers.size()> actions{};
  stack_t alternate{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
};
// The rank's number is the index. The table is made once, as each of them is, and never freed: the handler may come at any time.
constinit published<std::atomic<own_faults*>*> by_number;
// The process that has the table: a child that a rank forks has one of its own, one of vfork() its parent's memory.
constinit pid_t process_of_table = 0;

std::optional<std::size_t> index_of(int number) noexcept {
  const auto* const found = std::ranges::find(fault_numbers, number);
  if (found == fault_numbers.end()) return std::nullopt;
  return static_cast<std::size_t>(found - fault_numbers.begin());
}
// Faults of which weft tells where the stack has overflowed.
taken_fault* fault_of_memory(int number) noexcept {
  return number == SIGSEGV ? &faults[0] : number == SIGBUS ? &faults[1] : nullptr;
}

// Made by constants alone, without a guard: a sanitizer has its hand in guards and calls sigaction before it works.
decltype(::sigaction)* next_sigaction() {
  static constinit std::atomic<decltype(::sigaction)*> known{nullptr};
  // Relaxed: a pointer to code, the same whoever finds it.
  auto* next = known.load(std::memory_order_relaxed);
  if (next == nullptr) {
    next = next_definition<decltype(::sigaction)>("sigaction");
    known.store(next, std::memory_order_relaxed);
  }
  return next;
}

bool is_handler(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

bool is_ignored(const struct sigaction& action) noexcept {
  return !is_handler(action) && action.sa_handler == SIG_IGN;
}
bool is_own(const struct sigaction& action) noexcept {
  return is_handler(action) || is_ignored(action);
}

// --- The fault ------------------------------------------------------------------------------------

// What the rank that faults has said, also on threads that it has made; null where it has said nothing.
own_faults* faults_of_caller() noexcept {
  const std::atomic<own_faults*>* const all = by_number.value();
  if (all == nullptr) return nullptr;
  const int rank = detail::number_of_caller();
  return rank >= 0 ? all[rank].load(std::memory_order_relaxed) : nullptr;
}

void call_handler(const struct sigaction& action, int number, siginfo_t* details, void* context) {
  if ((action.sa_flags & SA_SIGINFO) != 0)
    action.sa_sigaction(number, details, context);
  else
    action.sa_handler(number);
}

// The process ends: what weft, or the kernel, does with it.
void report(taken_fault& taken, int number, siginfo_t* details, void* context) {
  const struct sigaction last = taken.of_weft;
  taken.is_taken.store(false, std::memory_order_relaxed);
  taken.ranks.store(0, std::memory_order_relaxed);
  if (is_handler(last)) return call_handler(last, number, details, context);
  struct sigaction end {};
  next_sigaction()(number, &end, nullptr);
  // It comes again, or must be sent: by abort(), say.
  if (details->si_code <= 0) ::pthread_kill(::pthread_self(), number);
}

void on_fault_of_program(int number, siginfo_t* details, void* context) {
  const std::size_t which = *index_of(number);
  taken_fault& taken = faults[which];
  if (fault_of_memory(number) != nullptr && is_stack_overflow(*details, context))
    return report(taken, number, details, context);
  if (own_faults* const mine = faults_of_caller(); mine != nullptr) {
    struct sigaction& own = mine->actions[which];
    // The kernel ignores a fault that is sent, and none that code causes.
    if (is_ignored(own) && details->si_code <= 0) return;
    if (const struct sigaction action = own; is_handler(action)) {
      if ((action.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) own = {};
      // The handler may wait, and another rank of the worker fault meanwhile.
      if (worker::caller() != nullptr && !is_forked_child())
        call_on_interrupted_stack(worker::current()->running_here().stack, action, number, *details,
                                  context);
      return call_handler(action, number, details, context);
    }
  }
  if (!taken.is_taken.load(std::memory_order_relaxed))
    return report(taken, number, details, context);
  const struct sigaction action = taken.of_program;
  if ((action.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) std::signal(number, SIG_DFL);
  call_handler(action, number, details, context);
}

// --- What the program says ------------------------------------------------------------------------

// Sets the kernel's action for what the process and ranks have said. The caller holds the lock.
int take_over(const taken_fault& taken, int number, int flags) {
  struct sigaction ours {};
  ours.sa_sigaction = &on_fault_of_program;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | flags;
  // A rank may leave its handler by a jump, and another fault.
  if (taken.ranks.load(std::memory_order_relaxed) != 0)
    ours.sa_flags |= SA_NODEFER;
  else
    ours.sa_mask = taken.of_program.sa_mask;
  return next_sigaction()(number, &ours, nullptr);
}

int take_fault(taken_fault& taken, int number, const struct sigaction* action,
               struct sigaction* before) {
  struct sigaction now {};
  if (next_sigaction()(number, nullptr, &now) != 0) return -1;
  // There is nothing to keep where weft has no handler. No lock is taken then: a sanitizer sets its handlers before its own locks work.
  if (!taken.is_taken.load(std::memory_order_relaxed) && !reports_fault(now) &&
      taken.ranks.load(std::memory_order_relaxed) == 0)
    return next_sigaction()(number, action, before);
  const std::lock_guard hold(faults_lock);
  if (next_sigaction()(number, nullptr, &now) != 0) return -1;
  const bool is_ours = now.sa_sigaction == &on_fault_of_program;
  const bool was_taken = taken.is_taken.load(std::memory_order_relaxed) && is_ours;
  if (before != nullptr) *before = was_taken ? taken.of_program : is_ours ? taken.of_weft : now;
  if (action == nullptr) return 0;
  if (!is_ours && reports_fault(now)) taken.of_weft = now;
  const bool has_ranks = taken.ranks.load(std::memory_order_relaxed) != 0;
  const bool takes =
      is_handler(*action) && !reports_fault(*action) && (has_ranks || reports_fault(taken.of_weft));
  taken.is_taken.store(takes, std::memory_order_relaxed);
  if (!takes) return has_ranks ? 0 : next_sigaction()(number, action, nullptr);
  taken.of_program = *action;
  return take_over(taken, number, action->sa_flags & (SA_RESTART | SA_NODEFER));
}

own_faults& own_faults_of(const detail::job_rank& rank) {
  if (by_number.hint() == nullptr) {
    static constexpr auto note_process = [] {
      process_of_table = static_cast<pid_t>(::syscall(SYS_getpid));
    };
    note_process();
    ::pthread_atfork([] { faults_lock.lock(); }, [] { faults_lock.unlock(); },
                     [] {
                       note_process();
                       faults_lock.unlock();
                     });
    by_number.publish(new std::atomic<own_faults*>[rank.of->places.size()] {});
  }
  std::atomic<own_faults*>& place = by_number.hint()[rank.number];
  own_faults* its = place.load(std::memory_order_relaxed);
  if (its == nullptr) {
    its = std::make_unique<own_faults>().release();
    place.store(its, std::memory_order_relaxed);
  }
  return *its;
}

}  // namespace

bool handles_own_fault(int number) noexcept {
  const std::optional<std::size_t> which = index_of(number);
  const own_faults* const mine = which ? faults_of_caller() : nullptr;
  return mine != nullptr && is_own(mine->actions[*which]);
}

}  // namespace weft::process

extern "C" {

int weft_has_own_fault(int number) {
  if (!weft::process::index_of(number) || !weft::process::has_copy()) return 0;
  return !weft::is_forked_child() || weft::process::process_of_table == ::syscall(SYS_getpid) ? 1
                                                                                              : 0;
}

int weft_own_fault_action(int number, const struct sigaction* action, struct sigaction* before) {
  using namespace weft::process;
  const weft::detail::rank_of_caller caller;
  const std::size_t which = *index_of(number);
  const std::lock_guard hold(faults_lock);
  own_faults& mine = own_faults_of(*caller.get());
  struct sigaction& own = mine.actions[which];
  if (before != nullptr) *before = own;
  if (action == nullptr) return 0;
  taken_fault& taken = faults[which];
  const int more = (is_own(*action) ? 1 : 0) - (is_own(own) ? 1 : 0);
  struct sigaction now {};
  if (next_sigaction()(number, nullptr, &now) != 0) return errno;
  if (now.sa_sigaction != &on_fault_of_program) taken.of_weft = now;
  taken.ranks.fetch_add(more, std::memory_order_relaxed);
  own = *action;
  // It stays in place: another rank may be about to fault.
  return more > 0 && take_over(taken, number, 0) != 0 ? errno : 0;
}

int weft_own_alternate_stack(const stack_t* stack, stack_t* before) {
  using namespace weft::process;
  const weft::detail::rank_of_caller caller;
  if (stack != nullptr && (stack->ss_flags & ~SS_DISABLE) != 0) return EINVAL;
  if (stack != nullptr && (stack->ss_flags & SS_DISABLE) == 0 &&
      stack->ss_size < static_cast<std::size_t>(MINSIGSTKSZ))
    return ENOMEM;
  const std::lock_guard hold(faults_lock);
  own_faults& mine = own_faults_of(*caller.get());
  if (before != nullptr) *before = mine.alternate;
  if (stack != nullptr) mine.alternate = *stack;
  return 0;
}

__attribute__((visibility("default"))) int sigaction(int number, const struct sigaction* action,
                                                     struct sigaction* before) noexcept {
  if (weft::process::taken_fault* const fault = weft::process::fault_of_memory(number);
      fault != nullptr)
    return weft::process::take_fault(*fault, number, action, before);
  return weft::process::next_sigaction()(number, action, before);
}

__attribute__((visibility("default"))) sighandler_t signal(int number,
                                                           sighandler_t handler) noexcept {
  static auto* const next = weft::next_definition<decltype(::signal)>("signal");
  weft::process::taken_fault* const fault = weft::process::fault_of_memory(number);
  if (fault == nullptr) return next(number, handler);
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  struct sigaction before {};
  return weft::process::take_fault(*fault, number, &action, &before) == 0 ? before.sa_handler
                                                                          : SIG_ERR;
}
}
