// Timers of ranks that share a process, in libweft.so: alarm(), ITIMER_REAL and those of timer_create(). The thread that passes signals
// on looks when the next is due.
#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "base/clock.hpp"
#include "job/caller.hpp"
#include "process/signals/signal_table.hpp"
#include "process/signals/signals.h"

namespace weft::process {
namespace {

timer* find_timer(const rank_signals& mine, int id) {
  const auto found = std::ranges::find_if(
      table().timers, [&](const timer& t) { return t.of == &mine && t.id == id; });
  return found == table().timers.end() ? nullptr : &*found;
}

}  // namespace

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
      if (is_default) {  // It ends, as in a process of its own, and with it the job.
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

}  // namespace weft::process

using namespace weft::process;

extern "C" {

int weft_make_timer(int number, union sigval value) {
  const weft::detail::rank_of_caller caller;
  rank_signals& mine = own_signals(*caller.get());
  const std::lock_guard hold(table().lock);
  ++table().timers_made;
  if (!mine.has_ended) table().timers.push_back({table().timers_made, &mine, number, value});
  return table().timers_made;
}

int weft_delete_timer(int which) {
  const weft::detail::rank_of_caller caller;
  rank_signals& mine = own_signals(*caller.get());
  const std::lock_guard hold(table().lock);
  return std::erase_if(table().timers,
                       [&](const timer& t) { return t.of == &mine && t.id == which; }) != 0
             ? 0
             : -1;
}

void weft_own_timer(int which, const struct itimerspec* set, struct itimerspec* left) {
  const weft::detail::rank_of_caller caller;
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
  // What the timer has sent before is handled now.
  if (signals_of_caller() == &mine && can_run(mine)) run_handlers(mine);
  look_again();
}
}
