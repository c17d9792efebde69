// What parcels look like on the way. A message is one parcel or several, one after the other:
//
//   header, 24 bytes
//   the non-zero-copy chunk: arguments, a result, or what the kind says
//   with chunks, the transmission chunk: the port's word for them, then the size of each, 8 bytes each
//
// The chunks themselves travel as the port likes. Both sides are machines of one kind.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "weft/parcels/encoding.hpp"

namespace weft::detail {

inline constexpr std::uint16_t parcel_version = 2;

enum class parcel_kind : std::uint8_t {
  call,     // Of an action; `call` is the caller's name for it.
  post,     // The same; nobody waits.
  result,   // `call` is that name.
  failure,  // Likewise; two texts with their lengths (u32): the exception's type and what it says.
  hello,    // At the start, to process 0: `call` is the digest of the sender's actions.
  names,    // The answer where that differs: the names of process 0's actions, each with its end.
  credit,  // `call` bytes of the receiver's calls and posts have been begun: it may send as many more.
};

struct parcel_header {
  std::uint16_t version = parcel_version;
  parcel_kind kind = parcel_kind::call;
  std::uint8_t chunk_count = 0;
  std::uint32_t action = 0;
  std::uint64_t call = 0;
  std::uint32_t size = 0;    // Of what follows: non-zero-copy chunk and transmission chunk.
  std::uint32_t credit = 0;  // As a parcel of that kind says.
};
static_assert(sizeof(parcel_header) == parcel_header_bytes &&
              std::is_trivially_copyable_v<parcel_header>);

// The transmission chunk of so many chunks.
[[nodiscard]] constexpr std::size_t transmission_bytes(std::size_t chunks) noexcept {
  return chunks == 0 ? 0 : (1 + chunks) * sizeof(std::uint64_t);
}

// A caller's name for a call: whose worker, and which of its calls.
struct call_name {
  std::uint32_t worker;
  std::uint32_t generation;
  std::uint32_t index;
  static constexpr int index_bits = 24, generation_bits = 24;
  [[nodiscard]] std::uint64_t packed() const noexcept {
    return std::uint64_t{worker} << (index_bits + generation_bits) |
           std::uint64_t{generation} << index_bits | index;
  }
  [[nodiscard]] static call_name of(std::uint64_t packed) noexcept {
    return {static_cast<std::uint32_t>(packed >> (index_bits + generation_bits)),
            static_cast<std::uint32_t>(packed >> index_bits & ((1u << generation_bits) - 1)),
            static_cast<std::uint32_t>(packed & ((1u << index_bits) - 1))};
  }
};

}  // namespace weft::detail
