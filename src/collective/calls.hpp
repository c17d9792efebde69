// Whether the calls of two ranks are the same, and the error when they are not.
#pragma once
#include <string>

#include "rank/communicator_state.hpp"

namespace weft::detail {

[[nodiscard]] std::string described(const collective_call& call);
[[nodiscard]] bool is_same(const collective_call& one, const collective_call& two) noexcept;
// The history of a rank after one more small broadcast. The last one can be recovered from it.
inline constexpr std::uint64_t history_factor = 0x9e3779b97f4a7c15u;  // Odd: nothing is lost.
[[nodiscard]] inline std::uint64_t history_with(std::uint64_t history, int root,
                                                std::size_t bytes) noexcept {
  return ((history ^ static_cast<std::uint64_t>(root) << 32 ^ bytes) + 1) * history_factor;
}
// The error text when rank `a` calls `calls` and rank `b` calls `but`.
[[nodiscard]] std::string mismatch(const communicator_state& c, int a, const collective_call& calls,
                                   int b, const collective_call& but);
// Called when no rank calls collectives of `c` any more: what is wrong when ranks of this process have not called the
// same ones; empty when they have. Small broadcasts, in which nobody meets, may have been the last.
[[nodiscard]] std::string unequal_calls(const communicator_state& c);
// Breaks the communicator and throws when the calls, or the small broadcasts before them, differ.
void check_same_slowly(communicator_state& c, int a, const collective_call& one, int b,
                       const collective_call& two);
inline void check_same(communicator_state& c, int a, const collective_call& one, int b,
                       const collective_call& two) {
  // Nearly always the names are one string in the program, which one comparison of pointers shows.
  if (!one.is_surely(two)) [[unlikely]]
    check_same_slowly(c, a, one, b, two);
}

}  // namespace weft::detail
