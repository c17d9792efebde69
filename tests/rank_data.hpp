// What rank r contributes to a collective at index i: every rank can compute everybody's.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::tests {

inline std::int64_t datum(int r, std::size_t i) {
  return (static_cast<std::int64_t>(r) * 1009 + static_cast<std::int64_t>(i) * 31 + 7) % 9973 -
         4000;
}
inline std::vector<std::int64_t> data_of(int r, std::size_t count) {
  std::vector<std::int64_t> d(count);
  for (std::size_t i = 0; i < count; ++i) d[i] = datum(r, i);
  return d;
}

// Not commutative but associative: maps x -> a x + b, modulo a prime, one after the other.
struct affine {
  std::uint64_t a, b;
  bool operator==(const affine&) const = default;
};
inline affine then(const affine& f, const affine& g) {
  constexpr std::uint64_t prime = 1'000'003;
  return {f.a * g.a % prime, (f.b * g.a + g.b) % prime};
}
inline affine affine_of(int r, std::size_t i) {
  return {static_cast<std::uint64_t>(r) * 7 + i % 13 + 2, static_cast<std::uint64_t>(r) + i};
}
inline std::vector<affine> affines_of(int r, std::size_t count) {
  std::vector<affine> d(count);
  for (std::size_t i = 0; i < count; ++i) d[i] = affine_of(r, i);
  return d;
}
inline affine affine_over(int first, int last, std::size_t i) {
  affine all = affine_of(first, i);
  for (int r = first + 1; r <= last; ++r) all = then(all, affine_of(r, i));
  return all;
}

}  // namespace weft::tests
