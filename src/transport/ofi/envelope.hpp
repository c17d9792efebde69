// What is in front of every message over libfabric, and what may be believed of one that has come:
// whoever finds the port may have sent any bytes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "transport/wire.hpp"

namespace weft {

struct ofi_envelope {
  std::uint64_t key;
  std::uint32_t sender;
  std::uint32_t sequence;
};
static_assert(sizeof(ofi_envelope) == 16 && std::is_trivially_copyable_v<ofi_envelope>);

enum class ofi_verdict : std::uint8_t {
  message,  // A header stands behind the envelope.
  note,     // One byte does.
  gap,      // Others should have come before it.
  // It is refused:
  no_envelope,
  unknown_sender,
  foreign,
  repeated,
  no_header,
  too_long,  // For any buffer; libfabric says so.
};

[[nodiscard]] constexpr const char* why_refused(ofi_verdict verdict) noexcept {
  switch (verdict) {
    case ofi_verdict::message:
    case ofi_verdict::note:
    case ofi_verdict::gap:
      break;
    case ofi_verdict::no_envelope:
      return "a message without an envelope";
    case ofi_verdict::unknown_sender:
      return "a message of an unknown sender";
    case ofi_verdict::foreign:
      return "a message that is not of this job";
    case ofi_verdict::repeated:
      return "a message that came twice";
    case ofi_verdict::no_header:
      return "a message without a header";
    case ofi_verdict::too_long:
      return "a message longer than any of this job";
  }
  return nullptr;
}

struct ofi_arrival {
  ofi_verdict verdict;
  std::uint32_t sender = 0;  // Of the receiver's table; without the right key, who it claims to be.
  std::uint32_t ahead = 0;   // How many messages are missing before it.
};

// `key` is the receiver's, `sender_count` the length of its table; `received(sender)` says how many
// messages have come from one of them, modulo 2^32.
template <class Received>
[[nodiscard]] inline ofi_arrival judge(std::span<const std::byte> bytes, std::uint64_t key,
                                       std::size_t sender_count,
                                       const Received& received) noexcept {
  ofi_envelope envelope;
  if (bytes.size() <= sizeof envelope) return {ofi_verdict::no_envelope};
  std::memcpy(&envelope, bytes.data(), sizeof envelope);
  const std::uint32_t sender = envelope.sender;
  if (sender >= sender_count) return {ofi_verdict::unknown_sender};
  if (envelope.key != key) return {ofi_verdict::foreign, sender};
  const std::uint32_t ahead = envelope.sequence - received(sender);
  if (ahead != 0)
    return {static_cast<std::int32_t>(ahead) < 0 ? ofi_verdict::repeated : ofi_verdict::gap, sender,
            ahead};
  const std::size_t behind = bytes.size() - sizeof envelope;
  if (behind >= sizeof(wire_header)) return {ofi_verdict::message, sender};
  return {behind == 1 ? ofi_verdict::note : ofi_verdict::no_header, sender};
}

}  // namespace weft
