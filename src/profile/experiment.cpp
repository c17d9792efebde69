#include "profile/experiment.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/clock.hpp"
#include "base/kernel.hpp"
#include "base/pause.hpp"

namespace weft::profile {

constinit thread_local std::uint64_t paid = 0;

namespace {

void delay(std::uint64_t until) noexcept {
  // Waking takes a while: the rest is spun.
  constexpr double woken_late_ns = 150'000;
  for (std::uint64_t now = ticks(); now < until; now = ticks()) {
    const double left = static_cast<double>(until - now) * ns_per_tick();
    if (left > 2 * woken_late_ns) {
      sleep_in_kernel(std::chrono::nanoseconds(static_cast<std::int64_t>(left - woken_late_ns)));
    } else {
      pause_processor();
    }
  }
}

}  // namespace

bool is_in_experiment(std::uint64_t offset, const char* call) noexcept {
  const causal_experiment& e = here.header->experiment;
  const auto count =
      static_cast<std::size_t>(std::clamp<int>(e.site_count, 0, causal_experiment::part_sites_max));
  for (std::size_t i = 0; i < count; ++i)
    if (e.at[i].offset == offset && std::strncmp(e.at[i].call, call, sizeof e.at[i].call - 1) == 0)
      return true;
  return false;
}

void contribute(std::uint64_t ticks_taken) noexcept {
  causal_experiment& e = here.header->experiment;
  e.visits.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t share =
      ticks_taken / 100 * static_cast<std::uint64_t>(std::clamp(e.percent, 0, 100));
  e.owed.fetch_add(share, std::memory_order_relaxed);
  paid += share;
}

void pay(live& p, bool at_end) noexcept {
  const std::uint64_t owed = here.header->experiment.owed.load(std::memory_order_relaxed);
  if (owed <= paid) return;
  const std::uint64_t debt = owed - paid;
  if (!at_end && static_cast<double>(debt) * ns_per_tick() < shortest_delay_ns) return;
  const std::uint64_t begun = ticks();
  delay(begun + debt);
  const std::uint64_t ended = ticks();
  paid += ended - begun;
  // No share has it, since it is none of the program's time.
  p.a->mark = ended;
}

void credit(const live& p) noexcept {
  // Others of its worker ran meanwhile, and owe.
  if (p.was_off) return;
  paid = std::max(paid, here.header->experiment.owed.load(std::memory_order_relaxed));
}

}  // namespace weft::profile
