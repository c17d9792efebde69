#include "base/clock.hpp"

namespace weft {

namespace {

double measure_ns_per_tick() noexcept {
  constexpr std::uint64_t span_ns = 5'000'000;
  const std::uint64_t start_ns = now_ns();
  const std::uint64_t start_ticks = ticks();
  std::uint64_t end_ns = start_ns;
  while (end_ns - start_ns < span_ns) end_ns = now_ns();
  return static_cast<double>(end_ns - start_ns) / static_cast<double>(ticks() - start_ticks);
}

}  // namespace

double ns_per_tick() noexcept {
  static const double ratio = measure_ns_per_tick();
  return ratio;
}

}  // namespace weft
