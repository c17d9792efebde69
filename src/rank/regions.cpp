// What a rank does, in place of being blocked in the kernel, while it waits for threads of its program:
// it lets the other ranks of its worker run. Only where these threads may call MPI.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "rank/program.h"
#include "sched/worker.hpp"

namespace weft {
namespace {

constexpr long long rest_ns_min = 1000, rest_ns_max = 200'000;

using shared_count = std::atomic_ref<unsigned>;

// In which the calling thread is a member of the team, but not the first.
thread_local constinit weft_region* joined = nullptr;
// Which ranks of the calling worker have begun: the innermost of each last.
thread_local std::vector<weft_region*> begun;

weft_region* region_of_caller() noexcept {
  const void* const rank = worker::caller();
  if (rank == nullptr) return joined;
  for (auto r = begun.rbegin(); r != begun.rend(); ++r)
    if ((*r)->rank == rank) return *r;
  return nullptr;
}

template <class Holds>
void wait_in_region(const weft_region& r, const Holds& holds) {
  worker& here = *static_cast<worker*>(r.worker);
  const shared_section inside(here);
  static constexpr wait_description barrier{"a barrier of OpenMP"};
  here.wait_until(holds, barrier, false);
}

}  // namespace
}  // namespace weft

using weft::shared_count;
using weft::worker;

extern "C" {

int weft_lets_others_run(long long* rest) {
  if (!worker::in_shared_program()) return 0;
  worker& here = *worker::current();
  const weft::shared_section inside(here);
  if (!here.has_others()) return 0;
  *rest = std::clamp(2 * *rest, weft::rest_ns_min, weft::rest_ns_max);
  static constexpr weft::wait_description thread{"a wait for a thread"};
  here.sleep_until(weft::now_ns() + static_cast<std::uint64_t>(*rest), thread, false);
  return 1;
}

void weft_begin_region(weft_region* region, void (*body)(void*), void* argument) {
  *region = {};
  region->body = body;
  region->argument = argument;
  if (worker::caller() == nullptr) {
    region->outer = std::exchange(weft::joined, nullptr);
  } else if (worker::in_shared_program()) {
    worker& here = *worker::current();
    region->rank = worker::caller();
    const weft::shared_section inside(here);
    if (here.has_others()) region->worker = &here;
    weft::begun.push_back(region);
  }
}

void weft_end_region(weft_region* region) {
  if (region->rank != nullptr)
    std::erase(weft::begun, region);
  else if (worker::caller() == nullptr)
    weft::joined = region->outer;
}

// All members say how many the others are, and say the same.
void weft_enter_region(weft_region* region, unsigned member, unsigned members) {
  if (region->worker == nullptr) return;
  shared_count(region->others).store(members - 1, std::memory_order_relaxed);
  if (member != 0) weft::joined = region;
}

void weft_leave_region(weft_region* region, unsigned member) {
  if (region->worker == nullptr) return;
  // Relaxed, here and below: OpenMP's own barrier follows, which orders what the threads have done.
  const unsigned others = shared_count(region->others).load(std::memory_order_relaxed);
  if (member == 0) {
    weft::wait_in_region(*region, [&] {
      return shared_count(region->left).load(std::memory_order_relaxed) == others;
    });
  } else {
    weft::joined = nullptr;
    worker& home = *static_cast<worker*>(region->worker);
    if (shared_count(region->left).fetch_add(1, std::memory_order_relaxed) + 1 == others)
      home.notify();
  }
}

void weft_meet_in_region(void) {
  weft_region* const region = weft::region_of_caller();
  if (region == nullptr || region->worker == nullptr) return;
  const unsigned others = shared_count(region->others).load(std::memory_order_relaxed);
  if (others == 0) return;
  if (worker::caller() != nullptr) {
    const unsigned awaited = ++region->meetings * others;
    // A cancelled region's threads go to its end at once.
    weft::wait_in_region(*region, [&] {
      return shared_count(region->arrived).load(std::memory_order_relaxed) == awaited ||
             shared_count(region->left).load(std::memory_order_relaxed) != 0;
    });
  } else {
    worker& home = *static_cast<worker*>(region->worker);
    if ((shared_count(region->arrived).fetch_add(1, std::memory_order_relaxed) + 1) % others == 0)
      home.notify();
  }
}
}
