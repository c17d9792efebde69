// What a rank that shares its process says of signals, in libweft.so: each has handlers, a mask and pending signals of its own.
// signal_delivery.cpp tells how they come.

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <mutex>

#include "base/forked_child.hpp"
#include "base/kept_errno.hpp"
#include "job/caller.hpp"
#include "process/life/program.h"
#include "process/life/running_program.hpp"
#include "process/signals/only_rank.hpp"
#include "process/signals/own_number.h"
#include "process/signals/signal_table.hpp"
#include "process/signals/signals.h"
#include "sched/worker.hpp"

using namespace weft::process;

namespace {

// Whether a thread of the rank waits for it.
bool is_awaited(const rank_signals* mine, int number) {
  if (mine == nullptr) return false;
  const std::lock_guard hold(table().lock);
  return std::ranges::any_of(table().waiting, [&](const waiting_thread& one) {
    return one.of == mine && (one.wanted & bit_of(number)) != 0;
  });
}

}  // namespace

extern "C" {

int weft_has_own_signal(int number) {
  return is_for_ranks(number) && !weft::is_forked_child() && has_copy() ? 1 : 0;
}

int weft_is_wefts_signal(int number) {
  return number == own_signal() ? 1 : 0;
}

int weft_own_action(int number, const struct sigaction* action, struct sigaction* before) {
  const weft::detail::rank_of_caller caller;
  rank_signals& mine = own_signals(*caller.get());
  const std::lock_guard hold(table().lock);
  struct sigaction& now = mine.actions[static_cast<std::size_t>(number)];
  if (before != nullptr) *before = now;
  if (action == nullptr) return 0;
  // Children may have ended before it has a handler.
  siginfo_t nothing{};
  nothing.si_signo = SIGCHLD;
  nothing.si_code = CLD_EXITED;
  if (number == SIGCHLD) tell_parents(nothing);
  now = *action;
  if (!is_handler(now))
    mine.pending.fetch_and(now.sa_handler == SIG_IGN ? ~bit_of(number) : ~std::uint64_t{0},
                           std::memory_order_relaxed);
  choose_action(number);
  return 0;
}

int weft_own_mask(int how, const sigset_t* set, sigset_t* before) {
  const weft::detail::rank_of_caller caller;
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
  const weft::detail::rank_of_caller caller;
  const rank_signals& mine = own_signals(*caller.get());
  set_bits(
      mine.pending.load(std::memory_order_relaxed) & mine.blocked.load(std::memory_order_relaxed),
      *set);
}

int weft_begin_mask(const sigset_t* mask, sigset_t* before) {
  const weft::detail::rank_of_caller caller;
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

int weft_is_thread_of_rank(unsigned long thread) {
  const weft::detail::maker_of_thread maker;
  clockid_t clock;
  if (maker.get() == nullptr || has_kernels_signals() || pthread_getcpuclockid(thread, &clock) != 0)
    return 0;
  // The clock's number is that of the thread, as the kernel has it.
  constexpr int bits_of_kind = 3;
  return ~(clock >> bits_of_kind) == maker.get()->home->thread() ? 1 : 0;
}

int weft_signal_self(int number, const siginfo_t* details) {
  if (weft_has_own_signal(number) == 0) return 0;
  const weft::detail::rank_of_caller caller;
  rank_signals* const mine = signals_of(caller.get()->number);
  struct sigaction action {};
  bool is_blocked = false;
  if (mine != nullptr) {
    action = mine->actions[static_cast<std::size_t>(number)];
    is_blocked = (mine->blocked.load(std::memory_order_relaxed) & bit_of(number)) != 0;
  }
  if (!is_blocked && !is_handler(action) && !is_awaited(mine, number)) {
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
    said.si_pid = weft_number_of_rank(caller.get()->number);
    said.si_uid = getuid();
  }
  {
    const handlers_kept_back kept(mine);
    const std::lock_guard hold(table().lock);
    post(*mine, number, said);
  }
  if (signals_of_caller() == mine)
    run_handlers(*mine);
  else
    look_again();  // A thread of the rank: the thread that passes on urges the rank.
  return 1;
}

void weft_call_in_rank(void (*call)(void* argument), void* argument) {
  const weft::detail::rank_of_caller caller;
  if (caller.get() == nullptr) return;
  rank_signals& mine = own_signals(*caller.get());
  {
    const std::lock_guard hold(mine.details_lock);
    mine.argument = argument;
    mine.call.store(call, std::memory_order_relaxed);
  }
  look_again();
}

int weft_claim_call_in_rank(void) {
  const weft::detail::rank_of_caller caller;
  if (caller.get() == nullptr) return 0;
  try {
    return own_signals(*caller.get()).is_call_claimed.exchange(true, std::memory_order_relaxed) ? 0
                                                                                                : 1;
  } catch (...) {
    errno = EAGAIN;  // No thread for signals could be started.
    return -1;
  }
}
void weft_give_up_call_in_rank(void) {
  const weft::detail::rank_of_caller caller;
  if (caller.get() != nullptr)
    own_signals(*caller.get()).is_call_claimed.store(false, std::memory_order_relaxed);
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

void weft_pipe_is_broken(void) {
  if (weft_has_own_signal(SIGPIPE) == 0) return;
  const weft::kept_errno kept;
  const std::uint64_t wanted = bit_of(SIGPIPE);
  const timespec none{};
  // The signal is pending for the thread, where it is blocked.
  if (::syscall(SYS_rt_sigtimedwait, &wanted, nullptr, &none, sizeof wanted) != SIGPIPE) return;
  weft_is_sent_sigpipe();
}
void weft_is_sent_sigpipe(void) {
  const weft::kept_errno kept;
  if (weft_signal_self(SIGPIPE, nullptr) == 0) do_default(SIGPIPE);
}

void weft_look_for_children(int child) {
  if (has_signals_of_ranks()) look_for_child(child);
}

void weft_tell_of_reaped_child(int child) {
  const weft::detail::rank_of_caller caller;
  if (!has_signals_of_ranks() || caller.get() == nullptr) return;
  siginfo_t details{};
  details.si_signo = SIGCHLD;
  details.si_code = CLD_EXITED;
  details.si_pid = child;
  {
    const std::lock_guard hold(table().lock);
    for (const auto& one : table().all)
      if (one->rank == caller.get()) post(*one, SIGCHLD, details);
  }
  if (signals_of_caller() == nullptr) look_again();  // A thread of the rank: that one is urged.
}

void weft_accept_signals(void) {
  accept_relays();
}
void weft_set_children(int (*rank_of)(int child), int (*next_ended)(int* rank)) {
  set_children(rank_of, next_ended);
}
}
