// Messages that only the two endpoints they pass between can have made: sealed by an authentication code, and enciphered
// on request. The ciphers are those of OpenSSL's libcrypto, which is loaded when the first endpoint needs it
// (docs/decisions/messages-are-sealed.md says why these).
//
// Each endpoint has a key pair for X25519 of its own. The public key is told to all; the private one never leaves the
// process. Of two endpoints each computes the same secret from its own private key and the other's public one, and from
// that by HKDF a key for each direction. A message is sealed by AES-128-GCM with its number as the nonce.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "transport/transport.hpp"

namespace weft {

// Of X25519, as RFC 7748 writes it.
using public_key = std::array<std::byte, 32>;

inline constexpr std::size_t seal_code_bytes = 16;

// What two endpoints say to each other. Used by the thread of one of them; allocates nothing.
class sealed_channel {
 public:
  struct ciphers;
  explicit sealed_channel(std::unique_ptr<ciphers> with);
  ~sealed_channel();
  sealed_channel(const sealed_channel&) = delete;
  sealed_channel& operator=(const sealed_channel&) = delete;

  // Writes the code of `message` as number `number` of those that this endpoint sends to the peer, and enciphers the
  // message where it stands if the channel does that. No two messages that leave the process may have the same number.
  // False when libcrypto refuses, which is a failure of this machine.
  [[nodiscard]] bool seal(std::uint64_t number, std::span<std::byte> message,
                          std::byte* code) noexcept;
  // Whether the peer has sealed exactly this as number `number` of those that it sends to this endpoint. If so, the
  // message stands there deciphered; otherwise any bytes do.
  [[nodiscard]] bool open(std::uint64_t number, std::span<std::byte> message,
                          const std::byte* code) noexcept;

 private:
  std::unique_ptr<ciphers> with_;
};

// The keys of an endpoint.
class key_pair {
 public:
  // Throws weft::error when there is no libcrypto or when it refuses.
  key_pair();
  ~key_pair();
  key_pair(const key_pair&) = delete;
  key_pair& operator=(const key_pair&) = delete;

  [[nodiscard]] const public_key& told() const noexcept { return told_; }
  // With the endpoint `peer`, which has told `theirs`. `own` and `peer` are different numbers of one table. Throws
  // weft::error when `theirs` is no key.
  [[nodiscard]] std::unique_ptr<sealed_channel> channel_with(const public_key& theirs,
                                                             std::uint32_t own, std::uint32_t peer,
                                                             protection how) const;

 private:
  struct pair;
  std::unique_ptr<pair> pair_;
  public_key told_{};
};

}  // namespace weft
