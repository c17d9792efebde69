// What peers may do with memory that is registered.
#pragma once
#include <cstdint>

namespace weft {

enum class peer_access : std::uint8_t { none = 0, read = 1, write = 2, read_and_write = 3 };

[[nodiscard]] constexpr bool allows(peer_access given, peer_access wanted) noexcept {
  return (static_cast<unsigned>(wanted) & ~static_cast<unsigned>(given)) == 0;
}

}  // namespace weft
