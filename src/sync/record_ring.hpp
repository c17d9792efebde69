// Bounded single-producer single-consumer ring of variable-length records: the mailbox between two
// workers. A record is one header word and its payload, both inside the ring, so a small message
// costs one cache line; two short messages share a line, so a burst costs half a line each.
//
//   R1 publish:     store word   -- A1 front:       load word    the consumer sees the payload
//   R2 pop:         store head_  -- A2 try_reserve: load head_   the producer may reuse the bytes
//
// A header word of zero means "nothing here yet". Before the producer publishes a record it clears the word behind it.
// The consumer only ever looks at the next header, so it never takes an old payload for a header; and it writes nothing
// into the ring: the producer alone writes each line.
//
// The two sides share the words and one position. Neither holds a pointer, so both may be in memory that processes
// share. record_producer and record_consumer are the two sides' own parts; record_ring is both and their memory
// inside one process. Whatever the producer wrote, the consumer never reads outside the ring; plausible() checks a
// header.
#pragma once
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "base/prefetch.hpp"
#include "sync/atomics.hpp"

namespace weft {

// The header word: payload size, kind and target. It stays a word: three fields would be stored one by one and loaded
// as one, and such a load waits for the store buffer.
struct record_header {
  std::uint64_t word;

  [[nodiscard]] static constexpr std::uint64_t pack(std::size_t size, std::uint8_t kind,
                                                    std::uint32_t target) noexcept {
    return static_cast<std::uint64_t>(size) | static_cast<std::uint64_t>(kind) << 24 |
           static_cast<std::uint64_t>(target) << 32;
  }
  // Payload bytes, below 2^24.
  [[nodiscard]] constexpr std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(word & 0xffffff);
  }
  // 1..254; 0 is "not published", 255 is the ring's own filler.
  [[nodiscard]] constexpr std::uint8_t kind() const noexcept {
    return static_cast<std::uint8_t>(word >> 24);
  }
  // Free for the user: which fiber, which rank.
  [[nodiscard]] constexpr std::uint32_t target() const noexcept {
    return static_cast<std::uint32_t>(word >> 32);
  }
};

inline constexpr std::uint8_t filler_kind = 255;
inline constexpr std::size_t record_granule = 32;

// The bytes of the ring that a record with this payload takes.
[[nodiscard]] constexpr std::size_t record_bytes(std::size_t payload) noexcept {
  return (payload + 8 + record_granule - 1) / record_granule * record_granule;
}
// The longest payload that always finds room once the consumer has caught up. The rest of the ring is for a filler
// that is nearly as long as the record, and for a quarter that the consumer may not have given back yet.
[[nodiscard]] constexpr std::size_t max_record_payload(std::size_t capacity_bytes) noexcept {
  return capacity_bytes / 8 * 3 - 64;
}

// Room for one record: try_reserve() returns it, publish() takes it. A value, so that it stays in registers while the
// payload is written.
template <class Word>
struct record_room {
  Word* header = nullptr;
  std::size_t next = 0;    // The position of the record behind it.
  std::size_t size = 0;    // Bytes of the payload.
  std::size_t filler = 0;  // Unused bytes in front of it.
  [[nodiscard]] explicit operator bool() const noexcept { return header != nullptr; }
  [[nodiscard]] Word* payload() const noexcept { return header + 1; }
};

// The producer's side. The ring's words are all zero at the start. Called by one thread.
//
// After each record it prefetches a cache line further ahead: a store to a line that the consumer's core has would
// hold up all later stores of this core. Without that a message of a window between workers took 30 ns instead of 28,
// an active message of a stream between processes 130 instead of 70.
//
// With `ClearAhead` it also clears that many bytes behind a record after it has published it, off the critical path: 8
// bytes one way between processes took 190 ns instead of 250. Then each reserved record must be published.
// `FetchBeyond` is the distance from the cleared bytes to the prefetched line; 0 prefetches what is cleared next.
template <class Atomics = std_atomics, std::size_t ClearAhead = 0,
          std::size_t FetchBeyond = 2 * cache_line>
class record_producer {
 public:
  using word = typename Atomics::template atomic<std::uint64_t>;
  using position = typename Atomics::template atomic<std::size_t>;
  using room = record_room<word>;

  record_producer() = default;
  // `capacity_bytes` is a power of two of at least 256; `head` is the consumer's to write.
  record_producer(word* words, std::size_t capacity_bytes, const position& head) noexcept
      : words_(words), mask_(capacity_bytes - 1), head_(&head) {}

  // Room for a payload of `size` bytes, which the caller fills and publishes; none when the ring is full.
  [[nodiscard]] room try_reserve(std::size_t size) noexcept {
    const std::size_t length = record_bytes(size);
    const std::size_t offset = tail_ & mask_;
    std::size_t filler = 0;
    if (offset + length > mask_ + 1)
      filler = mask_ + 1 - offset;  // Records never wrap.
    else if (length <= cache_line && offset % cache_line + length > cache_line)
      filler = cache_line - offset % cache_line;  // One that fits a line does not straddle two.
    // The word behind the record must be free too: it is cleared.
    if (!has_room(filler + length + record_granule)) [[unlikely]]
      return {};
    const std::size_t start = tail_ + filler, next = start + length;
    word* const header = &word_at(start);
    // Relaxed: publish() makes it visible together with the record. It is here and not there so that no store to
    // another line comes between the stores to the record's line: the consumer polls that line and would take it in
    // between.
    if constexpr (ClearAhead == 0) {
      if (next != cleared_) {
        word_at(next).store(0, std::memory_order_relaxed);
        cleared_ = 0;  // The record may overwrite the word that was cleared.
      }
    } else if (next >= cleared_) {
      word_at(next).store(0, std::memory_order_relaxed);
    }
    return {header, next, size, filler};
  }

  // Called when a record with header word `received` has come from this ring's consumer and an answer is likely.
  // Prefetches the line of the next record: the consumer's core polls it and so has it. Thus the line is under way
  // while the message is handled: 8 bytes one way between processes take 190 ns instead of 275. Not after a message
  // of several lines, whose answer is likely to be as long: its stores take so long that the poller has the first
  // line again before the header, the last of them, is stored (512 bytes: 370 ns instead of 330).
  //
  // Without ClearAhead the next publish() also prepares the record after it: see prepare_answer().
  void expect_answer(std::uint64_t received) noexcept {
    is_answering_ = true;
    if (record_bytes(record_header{received}.size()) <= cache_line)
      prefetch_for_writing(&word_at(tail_));
  }

  // Called after the payload is written, with nothing else reserved or published in between.
  void publish(const room& record, std::uint8_t kind, std::uint32_t target) noexcept {
    const std::uint64_t header = record_header::pack(record.size, kind, target);
    if (record.filler != 0) [[unlikely]] {
      // The consumer looks at the filler's word: publishing that publishes the record behind it.
      record.header->store(header, std::memory_order_relaxed);
      word_at(tail_).store(record_header::pack(record.filler, filler_kind, 0),
                           Atomics::release("R1"));
    } else {
      record.header->store(header, Atomics::release("R1"));
    }
    tail_ = record.next;
    if constexpr (ClearAhead == 0)
      if (std::exchange(is_answering_, false)) return prepare_answer(record.size);
    prepare_ahead();
  }

 private:
  void prepare_ahead() noexcept {
    constexpr std::size_t fetched = ClearAhead + FetchBeyond;
    if constexpr (ClearAhead != 0) cleared_ = std::max(cleared_, tail_ + record_granule);
    if (tail_ + fetched - head_seen_ > mask_ + 1) [[unlikely]]
      return;  // The consumer may still read there.
    prefetch_for_writing(&word_at(tail_ + fetched));
    if constexpr (ClearAhead != 0)
      for (; cleared_ < tail_ + ClearAhead; cleared_ += record_granule)
        word_at(cleared_).store(0, std::memory_order_relaxed);  // Relaxed: as in try_reserve().
  }
  // Called after an answer is published, while its receiver works on it. It expects a next record of the same size: it
  // clears the word behind that one, and stores to each of its lines, so that this core has them when the record is
  // written. Stores retire in order: one to a line that the consumer has holds back the header behind it. Prefetches
  // alone are not enough: a record of 4 KiB one way takes 360 ns so, 600 with prefetches, 690 with neither. Relaxed,
  // all: for the cleared word see try_reserve(); nobody reads the other words.
  [[gnu::noinline]] void prepare_answer(std::size_t size) noexcept {
    const std::size_t length = record_bytes(size);
    const std::size_t in_line = tail_ % cache_line;
    const bool would_straddle = length <= cache_line && in_line + length > cache_line;
    const std::size_t start = would_straddle ? tail_ + cache_line - in_line : tail_;
    const std::size_t next = start + length;
    if ((tail_ & mask_) + (next - tail_) > mask_ || next + record_granule - head_seen_ > mask_ + 1)
      return;  // The record will go to the beginning of the ring, or the consumer may still read there.
    cleared_ = next;
    word_at(next).store(0, std::memory_order_relaxed);
    for (std::size_t at = start - start % cache_line + cache_line; at + cache_line <= next;
         at += cache_line)
      word_at(at).store(0, std::memory_order_relaxed);
  }
  [[nodiscard]] word& word_at(std::size_t at) noexcept { return words_[(at & mask_) / 8]; }
  [[nodiscard]] bool has_room(std::size_t bytes) noexcept {
    if (tail_ + bytes - head_seen_ <= mask_ + 1) [[likely]]
      return true;
    head_seen_ = head_->load(Atomics::acquire("A2"));
    return tail_ + bytes - head_seen_ <= mask_ + 1;
  }

  // Positions count bytes since the start and never wrap in practice (2^64).
  word* words_ = nullptr;
  std::size_t mask_ = 0;  // The ring's bytes less one.
  const position* head_ = nullptr;
  std::size_t tail_ = 0;
  std::size_t head_seen_ = 0;
  // With ClearAhead: every granule from the tail to here begins with a zero. Without: the position of the one word that
  // is cleared, 0 for none.
  std::size_t cleared_ = 0;
  bool is_answering_ = false;  // The consumer has sent something since the last record.
};

// The consumer's side. Called by one thread, but for peek().
template <class Atomics = std_atomics>
class record_consumer {
 public:
  using word = typename Atomics::template atomic<std::uint64_t>;
  using position = typename Atomics::template atomic<std::size_t>;

  record_consumer() = default;
  record_consumer(word* words, std::size_t capacity_bytes, position& head) noexcept
      : words_(words), mask_(capacity_bytes - 1), head_(&head), untold_until_(mask_ / 4) {}

  // The header of the oldest record, or 0 when there is none.
  [[nodiscard]] std::uint64_t front() noexcept {
    const std::uint64_t header = word_at(head_private_).load(Atomics::acquire("A1"));
    if (record_header{header}.kind() == filler_kind) [[unlikely]]
      return behind_filler(header);
    return header;
  }

  // A hint, for a caller that looks at many rings: front() looks again.
  [[nodiscard]] bool seems_empty() const noexcept {
    return word_at(head_private_).load(std::memory_order_relaxed) == 0;
  }

  // Whether a sound producer can have made the header that front() returned. When a producer in another process is
  // broken, nothing behind that header can be found.
  [[nodiscard]] bool plausible(std::uint64_t header) const noexcept {
    const record_header record{header};
    return record.kind() != 0 && record.kind() != filler_kind &&
           (head_private_ & mask_) + record_bytes(record.size()) <= mask_ + 1;
  }

  // Called after front() returned a header. Valid until pop().
  [[nodiscard]] const word* payload() const noexcept { return &word_at(head_private_) + 1; }

  // Gives the front record's bytes back. True when the producer can see that: the caller then wakes it if it waits for
  // room.
  [[gnu::always_inline]] bool pop(std::uint64_t header) noexcept {
    advance(record_bytes(record_header{header}.size()));
    // The producer reads head_ only when it runs short of room, so head_ is stored once in a quarter of the ring.
    if (head_private_ <= untold_until_) return false;
    untold_until_ = head_private_ + mask_ / 4;
    head_->store(head_private_, Atomics::release("R2"));
    return true;
  }

  // Called by any thread, a hint: the header that front() would return; 0 when the consumer pops a record meanwhile.
  // Then the word that was read may be a payload under way: a race for a value that is thrown away, so
  // ThreadSanitizer is off.
  [[nodiscard, gnu::no_sanitize_thread]] std::uint64_t peek() const noexcept {
    const std::size_t head = __atomic_load_n(&head_private_, __ATOMIC_RELAXED);
    // Acquire: the second look at the position comes after it.
    const std::uint64_t header =
        __atomic_load_n(reinterpret_cast<const std::uint64_t*>(&word_at(head)), __ATOMIC_ACQUIRE);
    return __atomic_load_n(&head_private_, __ATOMIC_RELAXED) == head ? header : 0;
  }

  [[nodiscard]] bool at_new_line() const noexcept { return head_private_ % cache_line == 0; }

  // Called between front() and pop() when records come one right behind another, so that the producer is ahead:
  // prefetches a line that is probably written already. From a producer that is not ahead it would take the line.
  void fetch_ahead() const noexcept {
    prefetch_for_reading(&word_at(head_private_ + 2 * cache_line));
  }

  // The word of the next header, for a caller that polls many rings.
  [[nodiscard]] const word* next() const noexcept { return &word_at(head_private_); }

 private:
  [[nodiscard]] word& word_at(std::size_t at) const noexcept { return words_[(at & mask_) / 8]; }
  // Relaxed: only peek() reads it on other threads.
  void advance(std::size_t bytes) noexcept {
    std::atomic_ref(head_private_).store(head_private_ + bytes, std::memory_order_relaxed);
  }
  // Skips the filler and returns the header behind it; returns the filler itself when its size makes no sense.
  [[gnu::noinline]] std::uint64_t behind_filler(std::uint64_t filler) noexcept {
    const std::size_t size = record_header{filler}.size();
    const std::size_t offset = head_private_ & mask_;
    if (size == 0 || size % record_granule != 0 || offset + size > mask_ + 1) return filler;
    advance(size);
    // Relaxed: the acquire load of the filler already made the record visible.
    return word_at(head_private_).load(std::memory_order_relaxed);
  }

  word* words_ = nullptr;
  std::size_t mask_ = 0;  // The ring's bytes less one.
  position* head_ = nullptr;
  std::size_t head_private_ = 0;
  std::size_t untold_until_ = 0;  // Beyond this position pop() stores head_.
};

// Both sides and their memory, inside one process.
template <class Atomics = std_atomics, std::size_t ClearAhead = 0,
          std::size_t FetchBeyond = 2 * cache_line>
class record_ring {
 public:
  using word = typename Atomics::template atomic<std::uint64_t>;
  using room = record_room<word>;

  // `capacity_bytes` is a power of two of at least 256.
  explicit record_ring(std::size_t capacity_bytes)
      : words_(make_words(capacity_bytes / 8), {capacity_bytes / 8}),
        producer_(words_.get(), capacity_bytes, head_),
        consumer_(words_.get(), capacity_bytes, head_) {}

  record_ring(const record_ring&) = delete;
  record_ring& operator=(const record_ring&) = delete;

  // Called by the producer only.
  [[nodiscard]] room try_reserve(std::size_t size) noexcept { return producer_.try_reserve(size); }
  void expect_answer(std::uint64_t received) noexcept { producer_.expect_answer(received); }
  void publish(const room& record, std::uint8_t kind, std::uint32_t target) noexcept {
    producer_.publish(record, kind, target);
  }

  // Called by the consumer only.
  [[nodiscard]] std::uint64_t front() noexcept { return consumer_.front(); }
  [[nodiscard]] bool seems_empty() const noexcept { return consumer_.seems_empty(); }
  [[nodiscard]] const word* payload() const noexcept { return consumer_.payload(); }
  [[gnu::always_inline]] bool pop(std::uint64_t header) noexcept { return consumer_.pop(header); }
  // Whether the next record lies in another line than the one that was popped last.
  [[nodiscard]] bool at_new_line() const noexcept { return consumer_.at_new_line(); }
  void fetch_ahead() const noexcept { consumer_.fetch_ahead(); }
  // Called by any thread, a hint.
  [[nodiscard]] std::uint64_t peek() const noexcept { return consumer_.peek(); }

 private:
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

  const std::unique_ptr<word[], aligned_delete> words_;
  alignas(padding_bytes) typename Atomics::template atomic<std::size_t> head_{0};
  alignas(padding_bytes) record_producer<Atomics, ClearAhead, FetchBeyond> producer_;
  alignas(padding_bytes) record_consumer<Atomics> consumer_;
};

}  // namespace weft
