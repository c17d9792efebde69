// What a rank does that waits in a barrier of OpenMP for threads of its team: other ranks of its worker run. Only where these
// threads may call MPI.
#include "process/blocking/regions.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/forked_child.hpp"
#include "process/blocking/regions.h"
#include "process/blocking/yielding.hpp"
#include "process/signals/signal_hooks.hpp"
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
    const weft::process::signal_hooks* const signals = weft::process::signals_of_ranks();
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

namespace weft::process {
namespace {

// The region of whose team the calling thread is a member, but not the first.
thread_local constinit weft_region* joined = nullptr;
// Ranks of the calling worker have begun these regions. Those of one rank stand in the order in which it has begun them;
// those of others may stand between.
thread_local std::vector<std::unique_ptr<weft_region>> begun;

std::unique_ptr<weft_region>* innermost_of(const void* rank) noexcept {
  const auto found =
      std::find_if(begun.rbegin(), begun.rend(), [&](const auto& r) { return r->rank == rank; });
  return found == begun.rend() ? nullptr : &*found;
}

// The region whose first thread waits; null where there is none.
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

}  // namespace weft::process

using weft::worker;

extern "C" {

weft_region* weft_begin_region(void (*body)(void*), void* argument, weft_region** outer) {
  *outer = std::exchange(weft::process::joined, nullptr);
  worker* const here = worker::current();
  if (worker::caller() == nullptr || !here->is_shared()) return nullptr;
  const bool waits = body != nullptr && weft::process::blocks_other_ranks();
  if (!waits && weft::process::begun.empty()) return nullptr;
  weft::process::begun.push_back(
      std::make_unique<weft_region>(here, worker::caller(), waits, body, argument));
  return waits ? weft::process::begun.back().get() : nullptr;
}

void weft_end_region(weft_region* outer) {
  weft::process::joined = outer;
  if (worker::caller() == nullptr || weft::process::begun.empty()) return;
  if (auto* const mine = weft::process::innermost_of(worker::caller()); mine != nullptr)
    weft::process::begun.erase(weft::process::begun.begin() + (mine - weft::process::begun.data()));
}

void weft_run_part(weft_region* region, unsigned member, unsigned members) {
  const unsigned others = members - 1;
  // All members say so.
  region->others.store(others, std::memory_order_relaxed);
  if (member == 0) {
    region->body(region->argument);
    region->wait_until([&] { return region->left.load(std::memory_order_relaxed) == others; });
  } else {
    weft::process::joined = region;
    region->body(region->argument);
    weft::process::joined = nullptr;
    worker& home = *region->home;
    if (region->left.fetch_add(1, std::memory_order_relaxed) + 1 == others) home.notify();
  }
}

void weft_meet_in_region(void) {
  weft_region* const region = weft::process::region_of_caller();
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
  weft_region* const region = weft::process::region_of_caller();
  if (region == nullptr || region->has_tasks.exchange(true, std::memory_order_relaxed)) return;
  region->home->notify();
}
}
