// Waits of ranks that handlers of signals end, in libweft.so: others of the worker run meanwhile.
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdint>

#include "base/clock.hpp"
#include "base/forked_child.hpp"
#include "base/kept_errno.hpp"
#include "base/kernel.hpp"
#include "base/library_function.hpp"
#include "base/private_code.hpp"
#include "job/caller.hpp"
#include "process/signals/only_rank.hpp"
#include "process/signals/signal_table.hpp"
#include "process/signals/signals.h"
#include "sched/worker.hpp"
#include "trace/trace.hpp"
#include "weft/run.hpp"

namespace weft::process {
namespace {

// Waits until `holds()` or for so long at most, and no handler runs meanwhile. Where a signal is to be handled it ends, too.
template <class Holds>
void wait_for_signal(rank_signals& mine, const Holds& holds, std::uint64_t most_ns,
                     const char* call) {
  if (mine.in_the_middle != 0) return sleep_in_kernel(std::chrono::microseconds(200));
  worker& here = *worker::current();
  const shared_section inside(here);
  const handlers_kept_back kept(&mine);
  const wait_description description{.call = call, .ends_by_itself = true};
  const trace_span traced(trace_kind::sleep, here.number(), 0, call);
  here.wait_until([&] { return holds() || can_run(mine); }, most_ns, description);
}
constexpr std::uint64_t long_ns = 1'000'000'000'000'000;  // Eleven days.

// Whether the program, which is the only rank of its process, has a handler.
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
// A handler ends the sleep, as the kernel has it, but what comes from other processes is seen meanwhile, where there are any.
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
  const auto* const me = static_cast<const detail::job_rank*>(worker::caller());
  const trace_span traced(trace_kind::sleep, me->number, 0, "sleep");
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

// Threads wait for these from now on, or do no more. The caller holds the table's lock.
void choose_actions(std::uint64_t numbers) {
  for (; numbers != 0; numbers &= numbers - 1)
    if (const int number = std::countr_zero(numbers) + 1;
        is_for_ranks(number) && number != own_signal())
      choose_action(number);
}

}  // namespace

}  // namespace weft::process

using namespace weft::process;

extern "C" {

void weft_wait_for_handler(const sigset_t* mask) {
  const weft::detail::rank_of_caller caller;
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
  const weft::detail::rank_of_caller caller;
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

int weft_take_signal_in_thread(const sigset_t* set, siginfo_t* details,
                               const struct timespec* most) {
  const std::uint64_t wanted = bits_of(*set);
  const int thread = gettid();
  {
    const weft::detail::rank_of_caller caller;
    if (caller.get() == nullptr) return errno = EAGAIN, -1;  // Its job has ended.
    rank_signals& mine = own_signals(*caller.get());
    const std::lock_guard hold(table().lock);
    if (const std::uint64_t there = mine.pending.load(std::memory_order_relaxed) & wanted) {
      const int number = std::countr_zero(there) + 1;
      const std::lock_guard also(mine.details_lock);
      if (details != nullptr) *details = mine.details[static_cast<std::size_t>(number)];
      mine.pending.fetch_and(~bit_of(number), std::memory_order_relaxed);
      return number;
    }
    table().waiting.push_back({&mine, wanted, thread});
    choose_actions(wanted);
  }
  // It ends in any case: the thread may be cancelled.
  struct no_longer {
    int thread;
    std::uint64_t wanted;
    ~no_longer() {
      const std::lock_guard hold(table().lock);
      std::erase_if(table().waiting,
                    [&](const waiting_thread& one) { return one.thread == thread; });
      choose_actions(wanted);
    }
  } const ends{thread, wanted};
  static auto* const next = weft::next_definition<decltype(::sigtimedwait)>("sigtimedwait");
  return next(set, details, most);
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
}
