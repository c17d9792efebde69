// Causal experiments: what would the run gain if one part of the program took less? Whenever that part has run for some
// time, all other workers are delayed by a share of it; the run then goes as if the part had been faster by that share,
// and everything in it were slower by the sum of the delays, which is subtracted (Curtsinger and Berger, "Coz", SOSP
// 2015). For the sources of accounts alone; called by the home worker of the rank concerned.
//
// A worker pays at the next call of one of its ranks, before anything is sent. One whose rank has waited for another has
// paid already, since who let it wait has: it is credited. Delays shorter than `shortest_delay_ns` wait for more.
#pragma once
#include <cstdint>

#include "profile/live_account.hpp"

namespace weft::profile {

inline constexpr double shortest_delay_ns = 2'000;

[[nodiscard]] inline bool has_experiment() noexcept {
  return here.header != nullptr && here.header->experiment.of != causal_experiment::part::none;
}

// The part of the total delay owed that the worker of this thread has waited already, or is excused from.
extern constinit thread_local std::uint64_t paid;

// Whether calls there are part of it.
[[nodiscard]] bool is_in_experiment(std::uint64_t offset, const char* call) noexcept;
// The part has taken so many ticks.
void contribute(std::uint64_t ticks) noexcept;
// Delays the worker by what it owes; at the end of a rank by all of that.
void pay(live& p, bool at_end = false) noexcept;
// A wait has ended, which somebody else ended.
void credit(const live& p) noexcept;

}  // namespace weft::profile
