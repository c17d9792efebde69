// Active messages on their way from PE to PE.
//
// Within a process each PE has a queue from each worker: one thread at a time writes, the PE reads. It is a chain
// of chunks of zeroed memory, in which records follow one another; the word of a record tells that it is there.
//
// All that the two say to each other is published (sync/published.hpp): the word of a record, after which its payload is
// there, or at the end of a chunk the next one; the first chunk; and a chunk that the reader has made zero again, of which
// the reader gives one when there is none, and the writer takes it.
//
// The bytes of all chunks of a PE are counted (am_inbox::bytes); who would bring them over the limit waits.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/limits.hpp"
#include "shmem/limits.hpp"
#include "shmem/shmemx.h"
#include "sync/published.hpp"

namespace weft::shmem {

// A payload follows.
struct alignas(16) am_record {
  static constexpr std::uint32_t end_of_chunk = ~std::uint32_t{0};
  // Low half: 0 nothing yet, else the payload's length and one; high half: the id.
  published<std::uint64_t> word;
  std::int32_t source;
  std::uint32_t call;  // Of a message that wants a reply, or that is one: which call; 0: none.
  [[nodiscard]] std::byte* payload() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};
static_assert(sizeof(am_record) == 16);

class am_queue {
 public:
  am_queue() = default;
  ~am_queue();
  am_queue(const am_queue&) = delete;
  am_queue& operator=(const am_queue&) = delete;

  [[nodiscard]] static constexpr std::size_t record_bytes(std::size_t payload) noexcept {
    return sizeof(am_record) + ((payload + 15) & ~std::size_t{15});
  }

  // --- The writer ------------------------------------------------------------------------------
  // Room for a record of so many bytes in the chunk that is being written; null when a chunk is needed.
  [[nodiscard]] am_record* try_reserve(std::size_t bytes) noexcept {
    if (written_ == nullptr || written_->bytes - sizeof(am_record) - write_at_ < bytes) [[unlikely]]
      return nullptr;
    auto* const record = reinterpret_cast<am_record*>(written_->data() + write_at_);
    write_at_ += bytes;
    return record;
  }
  // What a new chunk for such a record takes.
  [[nodiscard]] static constexpr std::size_t chunk_bytes_for(std::size_t record) noexcept {
    return record + sizeof(am_record) > am_chunk_bytes ? record + sizeof(am_record)
                                                       : am_chunk_bytes;
  }
  // The next records lie in a new chunk. Throws std::bad_alloc.
  void new_chunk(std::size_t bytes);
  static void publish(am_record& record, std::uint32_t id, std::size_t length) noexcept {
    record.word.publish(std::uint64_t{id} << 32 | (length + 1));
  }

  // --- The reader ------------------------------------------------------------------------------
  // Whether a record is there. Follows the chain.
  [[nodiscard]] bool has_record() const noexcept {
    const chunk* const in = read_.value();
    return in != nullptr && in->at(read_at_).word.value() != 0;
  }
  // The oldest; null when there is none. `retired` gets the bytes of chunks that are not needed any more.
  [[nodiscard]] am_record* front(std::size_t& retired) noexcept;
  // The record has been used.
  void pop(std::size_t bytes) noexcept { read_at_ += bytes; }

 private:
  struct alignas(64) chunk {
    std::size_t bytes;
    chunk* next = nullptr;  // Written before the mark of the end.
    [[nodiscard]] std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
    [[nodiscard]] am_record& at(std::size_t offset) noexcept {
      return *reinterpret_cast<am_record*>(data() + offset);
    }
    [[nodiscard]] const am_record& at(std::size_t offset) const noexcept {
      return *reinterpret_cast<const am_record*>(reinterpret_cast<const std::byte*>(this + 1) +
                                                 offset);
    }
  };
  void retire(chunk& read) noexcept;

  alignas(padding_bytes) chunk* written_ = nullptr;
  std::size_t write_at_ = 0;
  // The first chunk is published by the writer, the others by the reader itself.
  alignas(padding_bytes) published<chunk*> read_{nullptr};
  std::size_t read_at_ = 0;
  alignas(padding_bytes) published<chunk*> spare_{nullptr};
};

struct am_handler {
  shmemx_am_handler_t function = nullptr;
  void* args_r = nullptr;
};

// A call that waits for its reply.
struct am_call_slot {
  void* reply;
  std::size_t reply_max;
  std::size_t length = 0;
  bool done = false;
};

// A message of another process of which some parts are still to come. Its record lies in the queue already.
struct am_unfinished {
  int source;
  std::uint32_t id;
  std::size_t length;
  std::size_t arrived;
  am_record* record;
};

// Of one PE.
struct am_state {
  std::vector<am_unfinished> unfinished;
  // By PE: bytes sent to those of other processes and not handled yet; empty until the first.
  std::vector<std::size_t> unread_far;
  // By worker of this process; made by the writer's side with its first message.
  std::vector<published<am_queue*>> from;
  std::vector<std::unique_ptr<am_queue>> storage;  // By worker, each written by that worker alone.
  alignas(padding_bytes) std::atomic<std::size_t> bytes{0};  // Of all chunks.
  alignas(padding_bytes) published<std::uint64_t> sent_and_handled{
      0};  // Of those that this PE has sent.
  std::uint64_t sent = 0;
  std::uint64_t handled = 0;  // By this PE.
  std::vector<am_handler> handlers;
  std::vector<am_call_slot*> calls;  // By call - 1; null: free.
  // While a handler runs: what it would reply to.
  const am_record* replies_to = nullptr;
  bool replied = false;
  unsigned empty_polls = 0;
};

}  // namespace weft::shmem
