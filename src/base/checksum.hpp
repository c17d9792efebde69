// Tells whether bytes of a file are those that were written: CRC-32, as of zlib. It finds damage, not intent.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace weft {

// Of these parts as if they were one.
[[nodiscard]] std::uint32_t checksum_of(std::initializer_list<std::span<const std::byte>> parts);

}  // namespace weft
