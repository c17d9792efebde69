// The call that a rank makes of a collective, in words, and whether those of two ranks are the
// same.
#pragma once
#include <string>

#include "rank/communicator_state.hpp"

namespace weft::detail {

[[nodiscard]] std::string described(const collective_call& call);
[[nodiscard]] bool is_same(const collective_call& one, const collective_call& two) noexcept;
// The history of a rank that calls one more small broadcast.
inline constexpr std::uint64_t history_factor = 0x9e3779b97f4a7c15u;  // Odd: nothing is lost.
[[nodiscard]] inline std::uint64_t history_with(std::uint64_t history, int root,
                                                std::size_t bytes) noexcept {
  return ((history ^ static_cast<std::uint64_t>(root) << 32 ^ bytes) + 1) * history_factor;
}
// What is wrong when rank `a` `calls` and rank `b` calls something else.
[[nodiscard]] std::string mismatch(const communicator_state& c, int a, const collective_call& calls,
                                   int b, const collective_call& but);
// Small broadcasts, whose roots meet nobody, may be the last that ranks call. What is wrong when those of
// this process have not called the same collectives; empty when they have. None calls any more.
[[nodiscard]] std::string unequal_calls(const communicator_state& c);
// Breaks the communicator and throws when they, or the broadcasts before them, differ.
void check_same_slowly(communicator_state& c, int a, const collective_call& one, int b,
                       const collective_call& two);
inline void check_same(communicator_state& c, int a, const collective_call& one, int b,
                       const collective_call& two) {
  // As nearly always: one call in the program, or several of one name that its linker has merged.
  if (!one.is_surely(two)) [[unlikely]]
    check_same_slowly(c, a, one, b, two);
}

}  // namespace weft::detail
