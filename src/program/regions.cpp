// What a rank does, in place of being blocked in the kernel, while it waits for threads of its program:
// it lets the other ranks of its worker run. Only where these threads may call MPI.
#include "program/regions.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/forked_child.hpp"
#include "program/program.h"
#include "program/program_run.hpp"
#include "sched/worker.hpp"

// Relaxed, all of them: OpenMP's own barriers order what the threads do, and these are counts.
struct weft_region {
  weft::worker* home;
  const void* rank;
  bool waits;  // Otherwise it only hides the one that it is in.
  void (*body)(void*);
  void* argument;
  unsigned meetings = 0;  // Barriers to which the first thread has come.
  std::atomic<unsigned> others{0};
  std::atomic<unsigned> arrived{0},
      left{0};  // How often others have come to one; who is at the end.
  std::atomic<bool> has_tasks{false};

  // Called by the first thread.
  template <class Holds>
  void wait_until(const Holds& holds) {
    static constexpr weft::wait_description barrier{"a barrier of OpenMP"};
    const auto is_over = [&] { return holds() || has_tasks.load(std::memory_order_relaxed); };
    const weft::detail::signal_hooks* const signals = weft::detail::signals_of_ranks();
    if (signals != nullptr && signals->is_in_the_middle()) return;  // The team's own barrier waits.
    do {
      {
        const weft::shared_section inside(*home);
        home->wait_until([&] { return is_over() || (signals != nullptr && signals->has_to_run()); },
                         barrier, false);
      }
      if (signals != nullptr) signals->run();
    } while (!is_over());
  }
};

namespace weft {
namespace {

// In which the calling thread is a member of the team, but not the first.
thread_local constinit weft_region* joined = nullptr;
// That ranks of the calling worker have begun. Those of one rank stand in the order in which it has begun them,
// those of others may stand between.
thread_local std::vector<std::unique_ptr<weft_region>> begun;

std::unique_ptr<weft_region>* innermost_of(const void* rank) noexcept {
  const auto found =
      std::find_if(begun.rbegin(), begun.rend(), [&](const auto& r) { return r->rank == rank; });
  return found == begun.rend() ? nullptr : &*found;
}

// Null where there is none whose first thread waits.
weft_region* region_of_caller() noexcept {
  const void* const rank = worker::caller();
  if (rank == nullptr) return joined;
  if (begun.empty()) return nullptr;
  const auto* const mine = innermost_of(rank);
  return mine != nullptr && (*mine)->waits ? mine->get() : nullptr;
}

}  // namespace

// A thread that is late may yet come to one of them: they stay.
void forget_regions(const void* rank) noexcept {
  std::erase_if(begun, [&](std::unique_ptr<weft_region>& r) {
    if (r->rank != rank) return false;
    (void)r.release();
    return true;
  });
}

}  // namespace weft

using weft::worker;

extern "C" {

int weft_keeps_others(void) {
  if (!worker::in_shared_program() || weft::detail::is_in_middle_of_code() ||
      weft::is_forked_child())
    return 0;
  worker& here = *worker::current();
  const weft::shared_section inside(here);
  return here.has_others() ? 1 : 0;
}

int weft_has_others(void) {
  if (worker::caller() == nullptr || weft::is_forked_child()) return 0;
  const weft::detail::signal_hooks* const signals = weft::detail::signals_of_ranks();
  if (signals != nullptr && signals->is_in_the_middle()) return 0;
  worker& here = *worker::current();
  const weft::shared_section inside(here);
  const bool keeps = here.has_others() || (signals != nullptr && signals->has_own());
  return keeps && !here.running().is_urgent ? 1 : 0;
}

int weft_lets_others_run(long long* rest) {
  if (weft_keeps_others() == 0) return 0;
  return weft_lets_any_run(rest);
}

int weft_lets_any_run(long long* rest) {
  if (weft_has_others() == 0) return 0;
  worker& here = *worker::current();
  *rest = weft::longer_rest_ns(*rest);
  static constexpr weft::wait_description thread{"a wait for a thread"};
  {
    const weft::shared_section inside(here);
    here.sleep(static_cast<std::uint64_t>(*rest), thread, false);
  }
  // Not in the wait: a handler may leave this by a jump, and whoever has called may let no exception through.
  if (const auto* const signals = weft::detail::signals_of_ranks(); signals != nullptr)
    signals->run();
  return 1;
}

weft_region* weft_begin_region(void (*body)(void*), void* argument, weft_region** outer) {
  *outer = std::exchange(weft::joined, nullptr);
  worker* const here = worker::current();
  if (worker::caller() == nullptr || !here->is_shared()) return nullptr;
  const bool waits = body != nullptr && weft_keeps_others() != 0;
  if (!waits && weft::begun.empty()) return nullptr;
  weft::begun.push_back(
      std::make_unique<weft_region>(here, worker::caller(), waits, body, argument));
  return waits ? weft::begun.back().get() : nullptr;
}

void weft_end_region(weft_region* outer) {
  weft::joined = outer;
  if (worker::caller() == nullptr || weft::begun.empty()) return;
  if (auto* const mine = weft::innermost_of(worker::caller()); mine != nullptr)
    weft::begun.erase(weft::begun.begin() + (mine - weft::begun.data()));
}

void weft_run_part(weft_region* region, unsigned member, unsigned members) {
  const unsigned others = members - 1;
  // All members say so.
  region->others.store(others, std::memory_order_relaxed);
  if (member == 0) {
    region->body(region->argument);
    region->wait_until([&] { return region->left.load(std::memory_order_relaxed) == others; });
  } else {
    weft::joined = region;
    region->body(region->argument);
    weft::joined = nullptr;
    worker& home = *region->home;
    if (region->left.fetch_add(1, std::memory_order_relaxed) + 1 == others) home.notify();
  }
}

void weft_meet_in_region(void) {
  weft_region* const region = weft::region_of_caller();
  if (region == nullptr) return;
  const unsigned others = region->others.load(std::memory_order_relaxed);
  if (others == 0) return;
  if (worker::caller() != nullptr) {
    const unsigned awaited = ++region->meetings * others;
    // A cancelled region's threads go to its end at once.
    region->wait_until([&] {
      return region->arrived.load(std::memory_order_relaxed) == awaited ||
             region->left.load(std::memory_order_relaxed) != 0;
    });
  } else if ((region->arrived.fetch_add(1, std::memory_order_relaxed) + 1) % others == 0) {
    region->home->notify();
  }
}

void weft_has_tasks(void) {
  weft_region* const region = weft::region_of_caller();
  if (region == nullptr || region->has_tasks.exchange(true, std::memory_order_relaxed)) return;
  region->home->notify();
}
}
