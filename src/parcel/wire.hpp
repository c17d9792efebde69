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

inline constexpr std::uint16_t parcel_version = 3;

enum class parcel_kind : std::uint8_t {
  call,     // It calls an action; `call` is the caller's name for it.
  post,     // The same; nobody waits.
  result,   // `call` is that name.
  failure,  // So it is here; failure_words, and three texts with their lengths (u32): see there.
  hello,  // At the start, to the first process with parcels: `call` is the digest of the sender's actions.
  names,  // The answer where that differs, or to a call of an action that is another here: all of the sender's, by name.
  meet,  // The answer of a process without actions where another one has sent another digest: process `call`. Hello to it.
  credit,  // `call` bytes of the receiver's calls and posts have been begun: it may send as many more.
};

// What an exception is here, the most derived of the standard's types that it is of.
enum class standard_exception : std::uint32_t {
  none,
  exception,
  logic_error,
  domain_error,
  invalid_argument,
  length_error,
  out_of_range,
  runtime_error,
  range_error,
  overflow_error,
  underflow_error,
  system_error,
  bad_alloc,
  bad_array_new_length,
  bad_cast,
  bad_typeid,
  bad_function_call,
  bad_optional_access,
  bad_variant_access,
  bad_weak_ptr,
};
// These words stand in front of a failure's texts: the exception's type, what it says, and the name of the category of a system_error.
struct failure_words {
  standard_exception is = standard_exception::none;
  std::int32_t code = 0;  // The code of a system_error.
};

struct parcel_header {
  std::uint16_t version = parcel_version;
  parcel_kind kind = parcel_kind::call;
  std::uint8_t chunk_count = 0;
  std::uint32_t action = 0;
  std::uint64_t call = 0;
  std::uint32_t size =
      0;  // What follows has so many bytes: non-zero-copy chunk and transmission chunk.
  std::uint32_t credit = 0;  // It says what a parcel of that kind says.
};
static_assert(sizeof(parcel_header) == parcel_header_bytes &&
              std::is_trivially_copyable_v<parcel_header>);

// The transmission chunk of so many chunks.
[[nodiscard]] constexpr std::size_t transmission_bytes(std::size_t chunks) noexcept {
  return chunks == 0 ? 0 : (1 + chunks) * sizeof(std::uint64_t);
}

// A caller's name for a call: whose worker, and the name in that worker's table of calls.
struct call_name {
  std::uint64_t worker;
  std::uint64_t entry;
  static constexpr int index_bits = 24, generation_bits = 24;
  static constexpr int entry_bits = index_bits + generation_bits;
  [[nodiscard]] std::uint64_t packed() const noexcept { return worker << entry_bits | entry; }
  [[nodiscard]] static call_name of(std::uint64_t packed) noexcept {
    return {packed >> entry_bits, packed & ((std::uint64_t{1} << entry_bits) - 1)};
  }
};

}  // namespace weft::detail
