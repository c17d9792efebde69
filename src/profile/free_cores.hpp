// For how long any core of this process has had nothing to do: a worker on a thread of its own that finds no work, or a thread
// that finds no worker to run. Called while tracing() only.
#pragma once
#include <cstdint>

namespace weft::profile {

// One more core is free from now on; one less.
void begin_free_core() noexcept;
void end_free_core() noexcept;

// The ticks from `from` until `until`, not in the future, in which any core was free. What lies thousands of changes back is not
// known, and counts as none.
[[nodiscard]] std::uint64_t free_between(std::uint64_t from, std::uint64_t until) noexcept;

// Nothing is free any more, and nothing was. Called while no worker runs.
void forget_free_cores() noexcept;

}  // namespace weft::profile
