// The processes of a job, as parcels see them.
#pragma once
#include <compare>
#include <cstddef>
#include <functional>
#include <source_location>
#include <vector>

namespace weft {

// A process of the job. Plain: it may be sent, compared, kept.
class locality {
 public:
  locality() = default;
  // Numbered from 0; whether the job has such a one is looked at by the call that is given it.
  explicit constexpr locality(int number) noexcept : number_(number) {}
  [[nodiscard]] constexpr int number() const noexcept { return number_; }
  friend constexpr auto operator<=>(const locality&, const locality&) = default;

 private:
  int number_ = 0;
};

// Called by ranks and tasks; throw weft::error elsewhere.
[[nodiscard]] locality here();
[[nodiscard]] int locality_count();
// In the order of their numbers.
[[nodiscard]] std::vector<locality> all_localities();

namespace detail {

// The first argument of a call, with where it stands, for reports.
struct destination {
  locality where;
  std::source_location at;
  destination(locality there,
              const std::source_location& called = std::source_location::current()) noexcept
      : where(there), at(called) {}
};

}  // namespace detail
}  // namespace weft

template <>
struct std::hash<weft::locality> {
  std::size_t operator()(const weft::locality& of) const noexcept {
    return static_cast<std::size_t>(of.number());
  }
};
