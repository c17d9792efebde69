// Waiting for a time, in ranks and in tasks.
#pragma once
#include <cstdint>
#include <type_traits>

namespace weft {
namespace detail {

void sleep_ns(std::int64_t duration);

template <class Duration>
concept duration_like = requires(const Duration& d) {
  d.count();
  Duration::period::den;
};

template <class Time>
concept time_point_like = requires(const Time& when) {
  { when - Time::clock::now() } -> duration_like;
};

template <duration_like Duration>
[[nodiscard]] constexpr std::int64_t nanoseconds_of(const Duration& duration) noexcept {
  constexpr std::int64_t second = 1'000'000'000;
  constexpr std::int64_t most = std::int64_t{1}
                                << 62;  // 146 years: beyond, a sum with the clock would overflow.
  using period = typename Duration::period;
  if constexpr (std::is_integral_v<typename Duration::rep> && second % period::den == 0) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(duration.count(), period::num * (second / period::den), &product) ||
        product > most)
      return duration.count() > 0 ? most : 0;
    return product;
  } else {
    const double product =
        static_cast<double>(duration.count()) *
        (static_cast<double>(second * period::num) / static_cast<double>(period::den));
    return product < static_cast<double>(most) ? static_cast<std::int64_t>(product) : most;
  }
}

}  // namespace detail

// The rank or the task sleeps for a std::chrono::duration, its worker does not: others run meanwhile. Not in a chunk of a
// loop, which may not wait: it throws there.
template <detail::duration_like Duration>
void sleep_for(const Duration& duration) {
  detail::sleep_ns(detail::nanoseconds_of(duration));
}
// The same until a std::chrono::time_point has come on its clock, which may be set meanwhile.
template <detail::time_point_like Time>
void sleep_until(const Time& when) {
  for (auto now = Time::clock::now(); now < when; now = Time::clock::now()) sleep_for(when - now);
}

}  // namespace weft
