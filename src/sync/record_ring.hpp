// Bounded single-producer single-consumer ring of variable-length records: the mailbox between two
// workers. A record is one header word and its payload, both inside the ring, so a small message
// costs one cache line; two 8-byte messages share a line, so a burst costs half a line each.
//
//   R1 publish:     store word   -- A1 front:       load word    the consumer sees the payload
//   R2 pop:         store head_  -- A2 try_reserve: load head_   the producer may reuse the bytes
//
// A header word of zero means "nothing here yet". Before a record is published the word behind it
// is cleared; hence the consumer, which only ever looks at the next header, never takes an old
// payload for a header, and it writes nothing into the ring: each line is written by the producer
// alone.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "sync/atomics.hpp"

namespace weft {

// The header word: payload size, what it is, and for whom.
struct record_header {
  std::uint32_t size;    // Payload octets, below 2^24.
  std::uint8_t kind;     // 1..254; 0 is "not published", 255 is the ring's own filler.
  std::uint32_t target;  // Free for the user: which fiber, which rank.

  [[nodiscard]] static constexpr std::uint64_t pack(std::size_t size, std::uint8_t kind,
                                                    std::uint32_t target) noexcept {
    return static_cast<std::uint64_t>(size) | static_cast<std::uint64_t>(kind) << 24 |
           static_cast<std::uint64_t>(target) << 32;
  }
  [[nodiscard]] static constexpr record_header unpack(std::uint64_t word) noexcept {
    return {static_cast<std::uint32_t>(word & 0xffffff), static_cast<std::uint8_t>(word >> 24),
            static_cast<std::uint32_t>(word >> 32)};
  }
};

template <class Atomics = std_atomics>
class record_ring {
 public:
  using word = typename Atomics::template atomic<std::uint64_t>;

  // `capacity_bytes` is a power of two of at least 256.
  explicit record_ring(std::size_t capacity_bytes)
      : capacity_(capacity_bytes), words_(make_words(capacity_bytes / 8), {capacity_bytes / 8}) {}

  record_ring(const record_ring&) = delete;
  record_ring& operator=(const record_ring&) = delete;

  // The longest payload that always finds room once the consumer has caught up.
  [[nodiscard]] std::size_t max_payload() const noexcept { return capacity_ / 4 - 64; }

  // Called by the producer only. Room for a payload of `size` octets, to be filled and then
  // published; nothing when the ring is full.
  [[nodiscard]] word* try_reserve(std::size_t size) noexcept {
    const std::size_t length = record_bytes(size);
    const std::size_t offset = tail_ & (capacity_ - 1);
    std::size_t filler = 0;
    if (offset + length > capacity_)
      filler = capacity_ - offset;  // Records never wrap.
    else if (length <= line && offset % line + length > line)
      filler = line - offset % line;  // A record that fits a line does not straddle two.
    // The word behind the record must be free too: publish() clears it.
    if (!has_room(filler + length + granule)) [[unlikely]]
      return nullptr;
    start_ = tail_ + filler;
    next_ = start_ + length;
    reserved_size_ = size;
    return &word_at(start_) + 1;
  }

  // Called by the producer only, after try_reserve() and after the payload was written.
  void publish(std::uint8_t kind, std::uint32_t target) noexcept {
    const std::uint64_t header = record_header::pack(reserved_size_, kind, target);
    // Relaxed: the release store below publishes it together with the record.
    word_at(next_).store(0, std::memory_order_relaxed);
    if (start_ != tail_) [[unlikely]] {
      // The filler is what the consumer waits at; publishing it publishes the record behind it.
      word_at(start_).store(header, std::memory_order_relaxed);
      word_at(tail_).store(record_header::pack(start_ - tail_, filler_kind, 0),
                           Atomics::release("R1"));
    } else {
      word_at(start_).store(header, Atomics::release("R1"));
    }
    tail_ = next_;
  }

  // Called by the consumer only. The header of the oldest record, or 0 when there is none.
  [[nodiscard]] std::uint64_t front() noexcept {
    std::uint64_t header = word_at(head_private_).load(Atomics::acquire("A1"));
    if (record_header::unpack(header).kind == filler_kind) [[unlikely]] {
      head_private_ += record_header::unpack(header).size;
      // Relaxed: the acquire load of the filler already made the record visible.
      header = word_at(head_private_).load(std::memory_order_relaxed);
    }
    return header;
  }

  // Called by the consumer only, after front() was not 0. Valid until pop().
  [[nodiscard]] const word* payload() noexcept { return &word_at(head_private_) + 1; }

  // Called by the consumer only: gives the front record's bytes back. True when the producer was
  // told, so that one who sleeps for want of room can be woken.
  bool pop(std::uint64_t header) noexcept {
    head_private_ += record_bytes(record_header::unpack(header).size);
    // The producer looks only when it runs short, so telling it rarely saves its cache line.
    if (head_private_ - head_told_ < capacity_ / 4) return false;
    head_told_ = head_private_;
    head_.store(head_told_, Atomics::release("R2"));
    return true;
  }

 private:
  static constexpr std::size_t line = 64;
  static constexpr std::size_t granule = 32;
  static constexpr std::uint8_t filler_kind = 255;
  static constexpr std::align_val_t alignment{padding_bytes};

  struct aligned_delete {
    std::size_t count;
    void operator()(word* words) const noexcept {
      std::destroy_n(words, count);
      ::operator delete(words, alignment);
    }
  };

  [[nodiscard]] static word* make_words(std::size_t count) {
    auto* words = static_cast<word*>(::operator new(count * sizeof(word), alignment));
    std::uninitialized_value_construct_n(words, count);
    return words;
  }
  [[nodiscard]] static constexpr std::size_t record_bytes(std::size_t payload) noexcept {
    return (payload + 8 + granule - 1) / granule * granule;
  }
  [[nodiscard]] word& word_at(std::size_t position) noexcept {
    return words_[(position & (capacity_ - 1)) / 8];
  }
  [[nodiscard]] bool has_room(std::size_t bytes) noexcept {
    if (tail_ + bytes - head_seen_ <= capacity_) [[likely]]
      return true;
    head_seen_ = head_.load(Atomics::acquire("A2"));
    return tail_ + bytes - head_seen_ <= capacity_;
  }

  // Positions count octets since the start and never wrap in practice (2^64).
  const std::size_t capacity_;
  const std::unique_ptr<word[], aligned_delete> words_;

  alignas(padding_bytes) std::size_t tail_ = 0;  // The producer's.
  std::size_t head_seen_ = 0;
  std::size_t start_ = 0;
  std::size_t next_ = 0;
  std::size_t reserved_size_ = 0;

  alignas(padding_bytes) std::size_t head_private_ = 0;  // The consumer's.
  std::size_t head_told_ = 0;
  alignas(padding_bytes) typename Atomics::template atomic<std::size_t> head_{0};
};

}  // namespace weft
