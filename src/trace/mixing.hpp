// Words that name something - a message, a collective, what somebody waits for - become one word that stands for them.
//
// Each word is scattered over all bits before the next one is added, so bits of one word cannot cancel bits of another, as
// they do where words are shifted and added: two names that differ become one with a chance of 2^-64, however alike
// they are. Names that differ in one word alone never do.
#pragma once
#include <concepts>
#include <cstdint>

namespace weft {

// Each bit of the result depends on each of the word, and words that differ have results that differ (the last step of
// splitmix64).
[[nodiscard]] constexpr std::uint64_t scattered(std::uint64_t word) noexcept {
  word = (word ^ word >> 30) * 0xbf58'476d'1ce4'e5b9;
  word = (word ^ word >> 27) * 0x94d0'49bb'1331'11eb;
  return word ^ word >> 31;
}

[[nodiscard]] constexpr std::uint64_t mixed(
    std::uint64_t first, std::convertible_to<std::uint64_t> auto... others) noexcept {
  // Zero scatters to zero.
  std::uint64_t all = scattered(first + 0x9e37'79b9'7f4a'7c15);
  ((all = scattered(all ^ others)), ...);
  return all;
}

}  // namespace weft
