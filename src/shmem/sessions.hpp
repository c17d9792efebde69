// What sessions gather (SHMEM_CTX_SESSION_BATCH): the active messages of a context, in a bundle for each target. A bundle is
// a message of weft's own, whose payload is messages: a word, low half the length, high half the id, and the payload in
// full words. Puts and atomic updates that go as messages gather in rma (rma::initiator::begin_gathering); those that
// loads and stores carry out are complete at once, and nothing would be gained.
//
// A bundle goes when it is full, and before the PE waits for others in whatever way: quiet, a poll that finds nothing, a
// collective, a wait for a word, the end of the session.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "shmem/limits.hpp"

namespace weft::shmem {

class am_bundle {
 public:
  static constexpr std::size_t word_bytes = sizeof(std::uint64_t);
  [[nodiscard]] static constexpr std::size_t bytes_of(std::size_t length) noexcept {
    return word_bytes + (length + word_bytes - 1) / word_bytes * word_bytes;
  }
  // False: there is no room, and nothing was done.
  [[gnu::always_inline, nodiscard]] bool try_add(std::uint32_t id, const void* payload,
                                                 std::size_t length) noexcept {
    const std::size_t bytes = bytes_of(length);
    if (bytes_.size() - used_ < bytes) return false;
    std::byte* const at = bytes_.data() + used_;
    const std::uint64_t word = std::uint64_t{id} << 32 | length;
    std::memcpy(at, &word, sizeof word);
    if (length == word_bytes)  // Without a call.
      std::memcpy(at + word_bytes, payload, word_bytes);
    else if (length != 0)
      std::memcpy(at + word_bytes, payload, length);
    used_ += bytes;
    return true;
  }
  [[nodiscard]] bool is_empty() const noexcept { return used_ == 0; }
  bool is_listed = false;  // In session::filled.
  [[nodiscard]] const std::byte* data() const noexcept { return bytes_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return used_; }
  // How much it holds; it is empty then, and may be filled once what it held has been copied.
  [[nodiscard]] std::size_t take() noexcept { return std::exchange(used_, 0); }

 private:
  std::size_t used_ = 0;
  alignas(16) std::array<std::byte, am_bundle_bytes> bytes_;
};

// Of a context in a session.
struct session {
  explicit session(int pes) : bundles(static_cast<std::size_t>(pes)) {}
  std::vector<std::unique_ptr<am_bundle>>
      bundles;              // By PE of the world; made with the first message.
  std::vector<int> filled;  // Whose bundles may hold something.

  // Likewise.
  [[gnu::always_inline, nodiscard]] bool try_add(int pe, std::uint32_t id, const void* payload,
                                                 std::size_t length) {
    std::unique_ptr<am_bundle>& to = bundles[static_cast<std::size_t>(pe)];
    if (to == nullptr) [[unlikely]]
      to = std::make_unique<am_bundle>();
    if (!to->is_listed) [[unlikely]] {
      filled.push_back(pe);
      to->is_listed = true;
    }
    return to->try_add(id, payload, length);
  }
};

}  // namespace weft::shmem
