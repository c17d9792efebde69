// What goes in front of every message between processes.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace weft {

// The meaning of the fields is the communication core's, message kind by message kind; transports
// carry them unread. Whoever receives one trusts nothing in it: the sender may be another version,
// or broken. The sender's endpoint is not in it, since the transport knows whom it heard.
struct wire_header {
  std::uint8_t kind = 0;  // The step of the protocol; 0 is never sent by the core.
  std::uint8_t flags = 0;
  std::uint16_t handler = 0;  // What to call, or which matching engine to ask.
  std::uint32_t user = 0;     // Free for who posted the message.
  std::uint64_t tag = 0;
  std::uint64_t size = 0;       // Bytes of the whole message, of which these are a part or all.
  std::uint64_t operation = 0;  // The operation at whichever side must recognise it again.
};
static_assert(sizeof(wire_header) == 32 && std::is_trivially_copyable_v<wire_header>);

// The same, put together in registers: a copy of what was written in pieces waits until all that was
// written before has left the processor's store buffer, and that is the message before.
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
