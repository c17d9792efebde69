// How a rank that waits for a thread, or for another process, lets other ranks of its worker run.
#pragma once
#include <algorithm>

namespace weft::process {

// Whether the calling rank keeps others of its worker from running while the kernel blocks it, and its program's threads may call
// MPI: one that waits for such a thread then yields.
[[nodiscard]] bool blocks_other_ranks();
// The same for a rank that waits for something else than its program's threads, another process, say. A rank with handlers of
// signals yields, too, so that they run meanwhile.
[[nodiscard]] bool may_yield();
// Other ranks run for a moment, a longer one each time, of which `rest_ns` keeps account, 0 at first. False and nothing done where
// the rank may not yield.
bool yield_longer(long long& rest_ns);

// How long a rank that waits for a thread lets others run before it looks again, after it has done so for
// `before`; 0 at first.
[[nodiscard]] constexpr long long longer_rest_ns(long long before) noexcept {
  constexpr long long min = 1000, max = 200'000;
  return std::clamp(2 * before, min, max);
}

}  // namespace weft::process
