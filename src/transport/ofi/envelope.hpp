// What is in front of every message over libfabric, and what may be believed of one that has come:
// whoever finds the port may have sent any bytes.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "transport/sealed/sealed.hpp"
#include "transport/wire.hpp"

namespace weft {

struct ofi_envelope {
  std::uint64_t key;
  std::uint32_t sender;
  std::uint32_t sequence;
};
static_assert(sizeof(ofi_envelope) == 16 && std::is_trivially_copyable_v<ofi_envelope>);

// Instead of that, where messages are sealed (transport/sealed). What is behind it is the message that the code is made of;
// sender and number are, too: they say by which key and by which nonce.
struct ofi_sealed_envelope {
  std::uint32_t sender;
  std::uint32_t number;  // Its last 32 bits.
  std::array<std::byte, seal_code_bytes> code;
};
static_assert(sizeof(ofi_sealed_envelope) == 24 &&
              std::is_trivially_copyable_v<ofi_sealed_envelope>);

enum class ofi_verdict : std::uint8_t {
  message,  // A header stands behind the envelope.
  note,     // A note between transports does.
  gap,      // Others should have come before it.
  // It is refused:
  no_envelope,
  unknown_sender,
  foreign,
  forged,  // Or changed on the way.
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
    case ofi_verdict::forged:
      return "a message that was changed on the way, or is not of this job";
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
  // Of the receiver's table; without the right key or code, who it claims to be.
  std::uint32_t sender = 0;
  std::uint32_t ahead = 0;  // How many messages are missing before it.
};

// A sealed note has the number of messages that its sender has received of the one it goes to behind its byte.
inline constexpr std::size_t ofi_note_bytes = 1;
inline constexpr std::size_t ofi_sealed_note_bytes = ofi_note_bytes + sizeof(std::uint64_t);

// Classifies a message whose key and sequence number are right.
[[nodiscard]] constexpr ofi_verdict what_stands_behind(std::size_t bytes,
                                                       std::size_t note_bytes) noexcept {
  if (bytes >= sizeof(wire_header)) return ofi_verdict::message;
  return bytes == note_bytes ? ofi_verdict::note : ofi_verdict::no_header;
}

// `key` is the receiver's, `sender_count` the length of its table; `received(sender)` says how many
// messages have come from one of them.
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
  const std::uint32_t ahead = envelope.sequence - static_cast<std::uint32_t>(received(sender));
  if (ahead != 0)
    return {static_cast<std::int32_t>(ahead) < 0 ? ofi_verdict::repeated : ofi_verdict::gap, sender,
            ahead};
  return {what_stands_behind(bytes.size() - sizeof envelope, ofi_note_bytes), sender};
}

// The same of a sealed one, where numbers have 64 bits. `opens(sender, number, message, code)` says whether the code is of
// that message of that sender, and deciphers it; nothing but who is to be asked is taken from the envelope before.
template <class Received, class Opens>
[[nodiscard]] inline ofi_arrival judge_sealed(std::span<std::byte> bytes, std::size_t sender_count,
                                              const Received& received,
                                              const Opens& opens) noexcept {
  ofi_sealed_envelope envelope;
  if (bytes.size() <= sizeof envelope) return {ofi_verdict::no_envelope};
  std::memcpy(&envelope, bytes.data(), sizeof envelope);
  const std::uint32_t sender = envelope.sender;
  if (sender >= sender_count) return {ofi_verdict::unknown_sender};
  const std::uint64_t expected = received(sender);
  const std::uint32_t ahead = envelope.number - static_cast<std::uint32_t>(expected);
  const auto distance = static_cast<std::int32_t>(ahead);
  const std::uint64_t number =
      expected + static_cast<std::uint64_t>(static_cast<std::int64_t>(distance));
  const std::span<std::byte> message = bytes.subspan(sizeof envelope);
  if (!opens(sender, number, message, envelope.code.data())) return {ofi_verdict::forged, sender};
  if (distance != 0)
    return {distance < 0 ? ofi_verdict::repeated : ofi_verdict::gap, sender, ahead};
  return {what_stands_behind(message.size(), ofi_sealed_note_bytes), sender};
}

}  // namespace weft
