// What goes in front of every message between processes.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace weft {

// The communication core gives the fields a meaning, message kind by message kind; transports carry them unread. A
// receiver trusts nothing in it: the sender may be another version, or broken. The sender's endpoint is not in it:
// the receiving transport knows that.
struct wire_header {
  std::uint8_t kind = 0;  // The step of the protocol; 0 is never sent by the core.
  std::uint8_t flags = 0;
  std::uint16_t handler = 0;  // What to call, or which matching engine to ask.
  std::uint32_t user = 0;     // Free for the user who posts the message.
  std::uint64_t tag = 0;
  std::uint64_t size = 0;       // Bytes of the whole message; the payload may be a part of it.
  std::uint64_t operation = 0;  // The name of an operation under way, at either side.
};
static_assert(sizeof(wire_header) == 32 && std::is_trivially_copyable_v<wire_header>);

// Makes a header in registers. A copy of a struct that was stored field by field waits until the store buffer is
// empty, and the message before is still in it.
[[nodiscard]] inline wire_header make_header(std::uint8_t kind, std::uint8_t flags,
                                             std::uint16_t handler, std::uint32_t user,
                                             std::uint64_t tag, std::uint64_t size,
                                             std::uint64_t operation) noexcept {
  static_assert(std::endian::native == std::endian::little);
  const std::uint64_t first = std::uint64_t{kind} | std::uint64_t{flags} << 8 |
                              std::uint64_t{handler} << 16 | std::uint64_t{user} << 32;
  return std::bit_cast<wire_header>(std::array{first, tag, size, operation});
}

}  // namespace weft
