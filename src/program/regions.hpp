// Regions of OpenMP that ranks have begun: weft_begin_region() of program.h.
#pragma once

#include <algorithm>

namespace weft {

// How long a rank that waits for a thread lets others run before it looks again, after it has done so for
// `before`; 0 at first.
[[nodiscard]] constexpr long long longer_rest_ns(long long before) noexcept {
  constexpr long long min = 1000, max = 200'000;
  return std::clamp(2 * before, min, max);
}

// Called on the worker's own thread when a rank ends, whose exit() or whose job's end may have left regions.
void forget_regions(const void* rank) noexcept;

}  // namespace weft
