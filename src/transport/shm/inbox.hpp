// One sender's ring as its receiver reads it. The receiver believes nothing in it: another process has written it,
// and may write it still.
#pragma once
#include <cstdint>
#include <cstring>
#include <span>

#include "sync/record_ring.hpp"
#include "transport/transport.hpp"

namespace weft {

// The only kind of record; another value shows a broken sender.
inline constexpr std::uint8_t shm_message_kind = 0x5a;

class shm_inbox {
 public:
  using word = record_consumer<>::word;

  shm_inbox() = default;
  // `mark` is in every record of this sender; payloads are at most `payload_bytes_max`.
  shm_inbox(record_consumer<> ring, std::uint32_t mark, std::size_t payload_bytes_max) noexcept
      : ring_(ring), mark_(mark), payload_bytes_max_(payload_bytes_max) {}

  struct outcome {
    int delivered;
    bool room_told;  // The sender can see that there is room: it may have to be woken.
  };
  // Delivers at most `budget` messages as those of `peer`. After a malformed record it is broken() for good: nobody
  // knows where the next one begins.
  outcome deliver(std::uint32_t peer, arrivals& to, int budget) noexcept {
    outcome so_far{0, false};
    while (so_far.delivered < budget && !broken_) {
      const std::uint64_t header = ring_.front();
      if (header == 0) break;
      if (!is_message(header)) {
        broken_ = true;
        to.refused(peer, "a record in shared memory makes no sense; nothing behind it is read");
        break;
      }
      const auto* bytes = reinterpret_cast<const std::byte*>(ring_.payload());
      wire_header message;
      std::memcpy(&message, bytes, sizeof message);
      const std::size_t size = record_header{header}.size() - sizeof message;
      to.delivered(peer, message, {bytes + sizeof message, size});
      so_far.room_told |= ring_.pop(header);
      ++so_far.delivered;
    }
    return so_far;
  }

  [[nodiscard]] bool broken() const noexcept { return broken_; }
  // A hint: deliver() looks itself.
  [[nodiscard]] bool is_empty() const noexcept {
    return broken_ || ring_.next()->load(std::memory_order_relaxed) == 0;
  }
  // The word in which the next message will appear.
  [[nodiscard]] const word* next() const noexcept { return ring_.next(); }

 private:
  [[nodiscard]] bool is_message(std::uint64_t header) const noexcept {
    const record_header record{header};
    return ring_.plausible(header) && record.kind() == shm_message_kind &&
           record.target() == mark_ && record.size() >= sizeof(wire_header) &&
           record.size() <= sizeof(wire_header) + payload_bytes_max_;
  }

  record_consumer<> ring_;
  std::uint32_t mark_ = 0;
  std::size_t payload_bytes_max_ = 0;
  bool broken_ = false;
};

}  // namespace weft
