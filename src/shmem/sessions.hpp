// What sessions gather (SHMEM_CTX_SESSION_BATCH): the active messages of a context, in a bundle for each target. A bundle is
// a message of weft's own, whose payload is messages: a word, low half the length, high half the id, and the payload in
// full words. Puts and atomic updates that go as messages gather in rma (rma::initiator::begin_gathering); those that
// loads and stores carry out are complete at once, and nothing would be gained.
//
// A bundle goes when it is full, and before the PE waits for others in whatever way: quiet, a poll that finds nothing, a
// collective, a wait for a word, the end of the session.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "remote/gathering.hpp"
#include "shmem/limits.hpp"

namespace weft::shmem {

// What a context keeps while it is in a session: a bundle for each PE of the world.
struct session {
  explicit session(int pes) : bundles(static_cast<std::size_t>(pes)) {}

  // What a payload of that length takes in a bundle.
  [[nodiscard]] static constexpr std::size_t bytes_of(std::size_t length) noexcept {
    return word_bytes + (length + word_bytes - 1) / word_bytes * word_bytes;
  }
  // False: there is no room, and nothing was done.
  [[gnu::always_inline, nodiscard]] bool try_add(int pe, std::uint32_t id, const void* payload,
                                                 std::size_t length) {
    std::byte* const at = bundles.try_reserve(static_cast<std::size_t>(pe), bytes_of(length));
    if (at == nullptr) return false;
    const std::uint64_t word = std::uint64_t{id} << 32 | length;
    std::memcpy(at, &word, sizeof word);
    if (length == word_bytes)  // A constant length needs no call.
      std::memcpy(at + word_bytes, payload, word_bytes);
    else if (length != 0)
      std::memcpy(at + word_bytes, payload, length);
    return true;
  }

  static constexpr std::size_t word_bytes = sizeof(std::uint64_t);
  remote::gathering<am_bundle_bytes> bundles;
};

}  // namespace weft::shmem
