// Which ranks of a process have signals of their own, and what the process does with each number on their account.
#include "process/signals/signal_table.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "base/forked_child.hpp"
#include "base/library_function.hpp"
#include "job/caller.hpp"
#include "process/signals/signals.h"
#include "sched/attached_thread.hpp"
#include "sched/scheduler.hpp"
#include "sched/worker.hpp"
#include "sync/published.hpp"

namespace weft::process {
namespace {

// The rank's number is the index. Handlers read it. It is made once.
constinit published<std::atomic<rank_signals*>*> by_number;

bool is_nothing_by_default(int number) noexcept {
  return number == SIGCHLD || number == SIGURG || number == SIGWINCH || number == SIGCONT;
}

enum class action_of_process : char { passes_on, ignores };
// What the process does with each signal that is taken; under the table's lock.
std::array<action_of_process, signals_max + 1> in_place{};

// The signals of the rank that calls, or whose child this process is, also of threads that it has made. Null: it has had to do with none.
const rank_signals* signals_of_parent() noexcept {
  const void* const of_thread = origin_of_this_thread().identity;
  const auto* const rank =
      static_cast<const detail::job_rank*>(of_thread != nullptr ? of_thread : worker::identity());
  return rank != nullptr ? signals_of(rank->number) : nullptr;
}

// A child has its parent's handlers itself, and its mask.
void take_signals_of(const rank_signals* parent) noexcept {
  for (int n = 1; n <= signals_max; ++n)
    if ((table().taken & bit_of(n)) != 0) {
      struct sigaction own {};
      if (parent != nullptr) own = parent->actions[static_cast<std::size_t>(n)];
      kernel_action()(n, &own, nullptr);
    }
  const std::uint64_t blocked =
      parent != nullptr ? parent->blocked.load(std::memory_order_relaxed) : 0;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, nullptr, sizeof blocked);
}

// Nobody passes signals on in a child.
void begin_child() {
  take_signals_of(signals_of_parent());
  forget_passing();
  table().lock.unlock();
}

}  // namespace

process_signals& table() noexcept {
  static process_signals& all = *new process_signals;
  return all;
}

namespace {
// Before there are children: one that is forked while another thread makes the table would wait for that for ever.
[[gnu::constructor]] void make_table() {
  static_cast<void>(table());
}
}  // namespace

decltype(::sigaction)* kernel_action() {
  static auto* const next = next_definition<decltype(::sigaction)>("sigaction");
  return next;
}

bool ends_process_by_default(int number) noexcept {
  return !is_nothing_by_default(number) && number != SIGTSTP && number != SIGTTIN &&
         number != SIGTTOU;
}

bool has_signals_of_ranks() noexcept {
  return by_number.value() != nullptr;
}
rank_signals* signals_of(int rank) noexcept {
  const std::atomic<rank_signals*>* const all = by_number.value();
  return all != nullptr ? all[rank].load(std::memory_order_relaxed) : nullptr;
}

void choose_action(int number) {
  bool any = false, ignored = false;
  for (const auto& one : table().all) {
    const struct sigaction& action = one->actions[static_cast<std::size_t>(number)];
    any |=
        is_handler(action) || (one->blocked.load(std::memory_order_relaxed) & bit_of(number)) != 0;
    ignored |= !is_handler(action) && action.sa_handler == SIG_IGN;
  }
  for (const waiting_thread& one : table().waiting) any |= (one.wanted & bit_of(number)) != 0;
  // The kernel would collect the children of all.
  if (number == SIGCHLD) any |= ignored;
  struct sigaction& before = table().before[static_cast<std::size_t>(number)];
  const bool is_taken = (table().taken & bit_of(number)) != 0;
  if (!any && !ignored) {
    if (is_taken) kernel_action()(number, &before, nullptr);
    table().taken &= ~bit_of(number);
    return;
  }
  const action_of_process wanted = any ? action_of_process::passes_on : action_of_process::ignores;
  action_of_process& now = in_place[static_cast<std::size_t>(number)];
  if (is_taken && now == wanted) return;
  now = wanted;
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

void post(rank_signals& to, int number, const siginfo_t& details) noexcept {
  const struct sigaction& action = to.actions[static_cast<std::size_t>(number)];
  for (const waiting_thread& one : table().waiting) {
    if (one.of != &to || (one.wanted & bit_of(number)) == 0) continue;
    siginfo_t same = details;
    same.si_signo = number;
    if (same.si_code >= 0 || same.si_code == SI_TKILL)
      same.si_code = SI_QUEUE;  // The kernel takes no others from a thread.
    if (::syscall(SYS_rt_tgsigqueueinfo, getpid(), one.thread, number, &same) == 0) return;
  }
  const bool is_blocked = (to.blocked.load(std::memory_order_relaxed) & bit_of(number)) != 0;
  if (!is_blocked && !is_handler(action)) return;
  const std::lock_guard hold(to.details_lock);
  to.details[static_cast<std::size_t>(number)] = details;
  to.pending.fetch_or(bit_of(number), std::memory_order_relaxed);
  // The rank may wait for it in sigwait() while its worker sleeps; for a handler the thread that passes on urges the rank.
  if (is_blocked) to.rank->home->notify();
}

rank_signals& own_signals(const detail::job_rank& rank) {
  if (rank_signals* const there = signals_of(rank.number)) return *there;
  const std::lock_guard hold(table().lock);
  if (by_number.hint() == nullptr) {
    begin_passing();
    ::pthread_atfork([] { table().lock.lock(); }, [] { table().lock.unlock(); }, &begin_child);
    by_number.publish(new std::atomic<rank_signals*>[rank.of->places.size()] {});
  }
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
  if (detail::state_of_caller() != nullptr) accept_relays();
  place.store(made.get(), std::memory_order_relaxed);
  table().all.push_back(std::move(made));
  return *table().all.back();
}

rank_signals* forgotten_signals_of(const detail::job_rank& rank) noexcept {
  if (!has_signals_of_ranks()) return nullptr;
  const std::lock_guard hold(table().lock);
  for (const auto& one : table().ended)
    if (one->rank == &rank) return one.get();
  return nullptr;
}

rank_signals* signals_of_caller() noexcept {
  if (worker::caller() == nullptr) return nullptr;
  rank_signals* const mine =
      signals_of(static_cast<const detail::job_rank*>(worker::caller())->number);
  return mine == nullptr || is_forked_child() ? nullptr : mine;
}

}  // namespace weft::process

extern "C" {

void weft_begin_child(int by_vfork) {
  using namespace weft::process;
  if (by_vfork != 0) weft::note_vfork(true);
  take_signals_of(signals_of_parent());
}
void weft_after_child_of_vfork(void) {
  weft::note_vfork(false);
}
void weft_signals_of_child(sigset_t* mask, sigset_t* not_ignored) {
  using namespace weft::process;
  const rank_signals* const mine = signals_of_parent();
  set_bits(mine != nullptr ? mine->blocked.load(std::memory_order_relaxed) : 0, *mask);
  sigemptyset(not_ignored);
  for (int n = 1; n <= signals_max; ++n)
    if ((table().taken & bit_of(n)) != 0 &&
        (mine == nullptr || mine->actions[static_cast<std::size_t>(n)].sa_handler != SIG_IGN))
      sigaddset(not_ignored, n);
}

void weft_forget_signals(int rank) {
  using namespace weft::process;
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
}
