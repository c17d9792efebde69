// For how long any core of this process has had nothing to do: a worker on a thread of its own that finds no work, or a thread
// that finds no worker to run. Called while tracing() only.
#pragma once
#include <cstdint>

namespace weft::profile {

// One more core is free from now on; one less.
void begin_free_core() noexcept;
void end_free_core() noexcept;

// The ticks until `when`, not in the future, in which any core was free. Of what lies thousands of changes back it knows no more
// than that they were as many as at the oldest change that is known.
[[nodiscard]] std::uint64_t free_until(std::uint64_t when) noexcept;

// Nothing is free any more, and nothing was. Called while no worker runs.
void forget_free_cores() noexcept;

}  // namespace weft::profile
