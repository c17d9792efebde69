// Two numbers of 32 bits in a word of a message.
#pragma once
#include <cstdint>

namespace weft::remote {

[[nodiscard]] constexpr std::uint64_t two(std::uint32_t high, std::uint32_t low) noexcept {
  return std::uint64_t{high} << 32 | low;
}
[[nodiscard]] constexpr std::uint32_t high_of(std::uint64_t both) noexcept {
  return static_cast<std::uint32_t>(both >> 32);
}
[[nodiscard]] constexpr std::uint32_t low_of(std::uint64_t both) noexcept {
  return static_cast<std::uint32_t>(both);
}

}  // namespace weft::remote
