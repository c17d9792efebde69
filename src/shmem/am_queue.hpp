// Active messages on their way from a worker to a PE of its process: one thread at a time writes, the PE reads. A chain
// of chunks of memory, in which records follow one another; the word of a record tells that it is there.
//
// All that the two say to each other is published (sync/published.hpp): the word of a record, after which its payload is
// there, or at the end of a chunk the next one; the first chunk; and a chunk that has been read, which the reader gives back
// when none is lying there, and the writer takes.
//
// Nobody clears a chunk: before a record is published the word behind it is emptied. The reader looks at a word only after
// that of the record before it, or after the chunk was handed over, and so finds it empty or written. The writer empties
// ahead, in lines that it has asked for: a store into the line that the reader polls is a chance to lose it again.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include "base/limits.hpp"
#include "base/prefetch.hpp"
#include "shmem/limits.hpp"
#include "sync/published.hpp"

namespace weft::shmem {

// A payload follows.
template <class Atomics>
struct alignas(16) basic_am_record {
  static constexpr std::uint32_t end_of_chunk = ~std::uint32_t{0};
  // Low half: 0 nothing yet, else the payload's length and one; high half: the id.
  published<std::uint64_t, Atomics> word;
  // Low half: the PE that has sent it; high half: of a message that wants a reply, or that is one, which call; 0: none.
  std::uint64_t sender;
  [[nodiscard]] int source() const noexcept {
    return static_cast<int>(static_cast<std::uint32_t>(sender));
  }
  [[nodiscard]] std::uint32_t call() const noexcept {
    return static_cast<std::uint32_t>(sender >> 32);
  }
  void set_sender(int pe, std::uint32_t which_call) noexcept {
    sender = static_cast<std::uint32_t>(pe) | std::uint64_t{which_call} << 32;
  }
  [[nodiscard]] std::byte* payload() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};
using am_record = basic_am_record<std_atomics>;
static_assert(sizeof(am_record) == 16);

// Makes and ends chunks.
struct am_chunk_memory {
  static constexpr std::size_t usual_bytes = am_chunk_bytes;
  // Makes memory for records of so many bytes behind a head.
  static void* make(std::size_t head_bytes, std::size_t bytes) {
    const std::size_t whole = (head_bytes + bytes + cache_line - 1) / cache_line * cache_line;
    void* const memory = std::aligned_alloc(cache_line, whole);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  static void end(void* memory, std::size_t, std::size_t) noexcept { std::free(memory); }
};

template <class Atomics = std_atomics, class Memory = am_chunk_memory>
class basic_am_queue {
 public:
  using record = basic_am_record<Atomics>;

  basic_am_queue() = default;
  basic_am_queue(const basic_am_queue&) = delete;
  basic_am_queue& operator=(const basic_am_queue&) = delete;
  ~basic_am_queue() {
    for (chunk* c = read_.hint(); c != nullptr;)  // Nobody uses it any more.
      end(std::exchange(c, c == written_ ? nullptr : c->next.get()));
    if (spare_.hint() != nullptr) end(spare_.hint());
  }

  // Two short ones share a line, none of them lies in two.
  [[nodiscard]] static constexpr std::size_t record_bytes(std::size_t payload) noexcept {
    return (sizeof(record) + payload + granule - 1) / granule * granule;
  }

  // What it may take of chunks: a record that does not fit into the chunk that is written leaves the end of that unused,
  // which is shorter than the record. Of short ones, of which many lie in a chunk, a quarter pays for all such ends.
  [[nodiscard]] static constexpr std::size_t taken_bytes(std::size_t payload) noexcept {
    const std::size_t bytes = record_bytes(payload);
    return bytes > Memory::usual_bytes / 8 ? 2 * bytes : bytes + bytes / 4;
  }

  // --- The writer ------------------------------------------------------------------------------
  // Room for a record of so many bytes in the chunk that is being written; null when a chunk is needed.
  [[nodiscard]] record* try_reserve(std::size_t bytes) noexcept {
    if (written_ == nullptr || written_->bytes - sizeof(record) - write_at_ < bytes) [[unlikely]]
      return nullptr;
    record& here = written_->at(write_at_);
    write_at_ += bytes;
    if (write_at_ >= emptied_) empty_until(write_at_ + granule);
    return &here;
  }
  // What a new chunk for such a record takes.
  [[nodiscard]] static constexpr std::size_t chunk_bytes_for(std::size_t bytes) noexcept {
    return bytes + sizeof(record) > Memory::usual_bytes ? bytes + sizeof(record)
                                                        : Memory::usual_bytes;
  }
  // The next records lie in a new chunk. Throws std::bad_alloc.
  void new_chunk(std::size_t bytes) {
    chunk* c = nullptr;
    if (bytes == Memory::usual_bytes && (c = spare_.value()) != nullptr) spare_.publish(nullptr);
    if (c == nullptr) c = ::new (Memory::make(sizeof(chunk), bytes)) chunk{bytes, {}};
    c->at(0).word.reset(0);
    emptied_ = granule;
    if (written_ == nullptr) {
      read_.publish(c);
    } else {
      written_->next.set(c);
      written_->at(write_at_).word.publish(record::end_of_chunk);
    }
    written_ = c;
    write_at_ = 0;
  }
  // A reserved record. Lines further ahead are asked for without waiting: a store to one that the reader has read would
  // hold up all stores behind it.
  void publish(record& written, std::uint32_t id, std::size_t length) noexcept {
    written.word.publish(std::uint64_t{id} << 32 | (length + 1));
    if (write_at_ + fetched_ahead >= written_->bytes) [[unlikely]]
      return;
    prefetch_for_writing(&written_->at(write_at_ + fetched_ahead));
    empty_until(write_at_ + emptied_ahead);
  }
  // A message has come from whoever reads this queue, and an answer is likely: asks for the line that it will lie in.
  void expect_answer() const noexcept {
    if (written_ != nullptr) prefetch_for_writing(&written_->at(write_at_));
  }

  // --- The reader ------------------------------------------------------------------------------
  // Whether a record is there, or the end of a chunk.
  [[nodiscard]] bool has_record() const noexcept {
    chunk* const in = read_.value();
    return in != nullptr && in->at(read_at_).word.value() != 0;
  }
  // The oldest; null when there is none. `retired` gets the bytes of chunks that are not needed any more.
  [[nodiscard]] record* front(std::size_t& retired) noexcept {
    for (;;) {
      chunk* const in = read_.value();
      if (in == nullptr) return nullptr;
      record& first = in->at(read_at_);
      const std::uint64_t word = first.word.value();
      if (word == 0) return nullptr;
      if (static_cast<std::uint32_t>(word) != record::end_of_chunk) [[likely]]
        return &first;
      read_.reset(in->next.get());  // The reader's own.
      read_at_ = 0;
      retired += in->bytes;
      // One is kept for the writer.
      if (in->bytes != Memory::usual_bytes || spare_.hint() != nullptr)
        end(in);
      else
        spare_.publish(in);
    }
  }
  // The record has been used.
  void pop(std::size_t bytes) noexcept { read_at_ += bytes; }
  // Between front() and pop() of a record that came right behind another: asks for a line that is written by now.
  void fetch_ahead() const noexcept {
    prefetch_for_reading(&read_.hint()->at(read_at_ + fetched_ahead));
  }

 private:
  static constexpr std::size_t granule = 2 * sizeof(record);
  static constexpr std::size_t emptied_ahead = cache_line;
  static constexpr std::size_t fetched_ahead = 3 * cache_line;

  // The records that may begin in front of there, in the chunk that is being written.
  void empty_until(std::size_t end) noexcept {
    for (emptied_ = std::max(emptied_, write_at_); emptied_ < end; emptied_ += granule)
      written_->at(emptied_).word.reset(0);
  }

  struct alignas(cache_line) chunk {
    std::size_t bytes;
    typename Atomics::template plain<chunk*> next;  // Written before the mark of the end.
    [[nodiscard]] record& at(std::size_t offset) noexcept {
      return *reinterpret_cast<record*>(reinterpret_cast<std::byte*>(this + 1) + offset);
    }
  };
  static void end(chunk* c) noexcept {
    const std::size_t bytes = c->bytes;
    c->~chunk();
    Memory::end(c, sizeof(chunk), bytes);
  }

  alignas(padding_bytes) chunk* written_ = nullptr;
  std::size_t write_at_ = 0;
  std::size_t emptied_ = 0;  // No record is published between write_at_ and here.
  // The first chunk is published by the writer, the others by the reader itself.
  alignas(padding_bytes) published<chunk*, Atomics> read_{nullptr};
  std::size_t read_at_ = 0;
  alignas(padding_bytes) published<chunk*, Atomics> spare_{nullptr};
};
using am_queue = basic_am_queue<>;

}  // namespace weft::shmem
