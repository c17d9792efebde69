// Places for messages that must be kept: packets of one size, made with the device, and buffers for messages that are
// longer or come when all packets are out. The device's thread takes them, any thread gives them back. A few freed
// buffers are kept, so that a steady stream of long messages allocates nothing.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "comm/match_node.hpp"
#include "sync/pool.hpp"
#include "transport/wire.hpp"

namespace weft::comm {

class packet_pool;
class local_device;

// The fields after `capacity` belong to the user of the place.
struct place : match_node {
  place() : match_node(false) {}

  packet_pool* home = nullptr;
  std::byte* storage = nullptr;
  std::size_t capacity = 0;
  bool is_packet = false;   // Otherwise a buffer from the heap.
  bool is_waiting = false;  // Counted in buffer_bytes(): its data wait for the program.

  place* behind = nullptr;  // In the list that it waits in.
  std::uint32_t peer = 0;
  std::size_t size = 0;
  wire_header header;

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {storage, size}; }
};

class packet_pool {
 public:
  packet_pool(local_device& owner, std::size_t count, std::size_t bytes);
  packet_pool(const packet_pool&) = delete;
  packet_pool& operator=(const packet_pool&) = delete;
  ~packet_pool();

  [[nodiscard]] local_device& owner() const noexcept { return owner_; }

  // Called by the owner only. Null when all packets are out.
  [[nodiscard]] place* try_take_packet() noexcept { return packets_.try_take(); }
  // Called by the owner only: a packet if one is free and large enough, else a buffer. Null when
  // there is no memory.
  [[nodiscard]] place* take(std::size_t bytes) noexcept;
  // Says that the buffer's data have arrived and wait for the program: too many of these stop the device from polling
  // for messages. A buffer whose data are still under way must not count: without polls it would never end.
  void begin_waiting(place& filled) noexcept;
  // As take(), filled with a copy of `content` that waits for the program.
  [[nodiscard]] place* take_copy(std::span<const std::byte> content) noexcept;
  // Called by the owner only.
  void give_back(place* given) noexcept;

  // Bytes in buffers whose data wait for the program.
  [[nodiscard]] std::size_t buffer_bytes() const noexcept {
    return buffer_bytes_.load(std::memory_order_relaxed);  // Relaxed: a measure of back-pressure.
  }

  // Called by any thread.
  static void give_back_remote(place* given) noexcept;

 private:
  struct buffer : place {
    std_atomics::plain<buffer*> next;
    buffer* older = nullptr;  // The owner's list of all buffers.
    buffer* newer = nullptr;
  };

  [[nodiscard]] place* take_buffer(std::size_t bytes) noexcept;
  void end_waiting(place& given) noexcept;
  void keep_or_free(buffer* freed) noexcept;
  void free_buffer(buffer* freed) noexcept;

  local_device& owner_;
  const std::size_t packet_bytes_;
  std::unique_ptr<std::byte[]> bytes_;
  pool<place> packets_;
  std::array<buffer*, spare_buffers_max> spare_{};  // The owner's.
  buffer* newest_ = nullptr;  // Of all buffers, those in use too: the destructor frees them.
  std::atomic<std::size_t> buffer_bytes_{0};
  alignas(padding_bytes) handoff_stack<buffer> returned_;
};

}  // namespace weft::comm
