// Operations under way of one device, and the names by which peers know them.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/limits.hpp"
#include "comm/match_node.hpp"
#include "comm/packets.hpp"
#include "comm/wire.hpp"
#include "sync/mpsc_queue.hpp"
#include "transport/transport.hpp"
#include "weft/comm/completion.hpp"

namespace weft::comm {

class local_device;
struct registration;

using part_list = std::array<exposed_part, message_parts_max>;

enum class purpose : std::uint8_t {
  none,     // Not in use.
  eager,    // The transport uses the data of one message.
  send,     // A send or am by rendezvous.
  receive,  // A receive, or the place of an am that comes by rendezvous.
  put,
  get,
  reply,  // To a get that came as a message.
  atomic,
};

enum class phase : std::uint8_t {
  matching,   // A receive that waits in a matching engine.
  announced,  // A long message that waits since too much arrives in the core's memory already.
  waiting,    // It waits for a message of the peer, of kind `awaited`.
  moving,     // Pieces are handed to the transport, or wait until it has room.
};

enum class transfer_mode : std::uint8_t { none, get, put, data, put_data };

struct operation : match_node {
  operation() : match_node(true) {}

  std_atomics::plain<operation*> next;  // On the way to another device.
  operation* behind = nullptr;          // In a waiting_list.
  std::uint32_t index = 0;
  std::uint32_t generation = 0;

  purpose why = purpose::none;
  phase at = phase::waiting;
  transfer_mode move = transfer_mode::none;
  message_kind awaited = message_kind::none;
  operation_kind kind = operation_kind::send;
  outcome result = outcome::complete;
  bool listed = false;
  bool in_place = false;
  bool by_messages = false;         // No transport reaches the peer's memory.
  bool tells = false;               // A put_and_tell(): one write that the peer is told of.
  bool prefers_write = false;       // The sender would rather write than send messages.
  bool is_arriving = false;         // It arrives in the core's memory.
  bool finished_elsewhere = false;  // On the way home to be freed.

  std::uint16_t handler = 0;  // The handler of an am that arrives, or the one to notify.
  std::uint32_t user = 0;
  std::uint32_t peer = 0;
  std::uint32_t outstanding = 0;  // Pieces that the transport still uses.
  std::uint64_t tag = 0;
  std::array<std::uint64_t, 2> head{};
  completion local;
  void* context = nullptr;
  std::uint64_t* old = nullptr;

  std::uint64_t size = 0;     // All bytes.
  std::uint64_t moved = 0;    // Bytes handed to the transport.
  std::uint64_t arrived = 0;  // Bytes that came as messages.
  std::uint64_t partner = 0;  // The operation, or region, at the peer.
  std::uint64_t offset = 0;   // In the region.
  notification told;          // What the last piece of a put tells the peer; sent from here.
  place* holding = nullptr;   // Where the data are, when the core has them.
  local_device* home = nullptr;

  std::uint32_t local_count = 0, remote_count = 0;
  // Where the next piece begins.
  std::uint32_t local_part = 0, remote_part = 0;
  std::uint64_t local_offset = 0, remote_offset = 0;
  std::array<std::span<std::byte>, message_parts_max> locals;
  std::array<registration*, message_parts_max> registrations{};
  part_list remotes;

  [[nodiscard]] std::uint64_t id() const noexcept {
    return std::uint64_t{generation} << 32 | (index + 1);
  }
  [[nodiscard]] bool in_use() const noexcept { return why != purpose::none; }
};

class operation_table {
 public:
  explicit operation_table(local_device* home) noexcept : home_(home) {}

  // A fresh operation, or null when `limit` are in use or there is no memory. Allocates only when
  // more are in use than ever before.
  [[nodiscard]] operation* take(std::size_t limit) noexcept;
  void give_back(operation* ended) noexcept;
  // The operation that has this name, or null.
  [[nodiscard]] operation* find(std::uint64_t id) noexcept;
  [[nodiscard]] std::size_t in_use() const noexcept { return in_use_; }

  // Calls visit(operation&) for each that is in use; visit may end it.
  template <class Visit>
  void each(Visit&& visit) {
    // By index: a handler that is called may begin operations, and the table grows.
    for (std::size_t i = 0; i < chunks_.size() * chunk_size; ++i)
      if (operation& one = chunks_[i / chunk_size][i % chunk_size]; one.in_use()) visit(one);
  }

 private:
  static constexpr std::size_t chunk_size = 64;

  [[nodiscard]] bool grow() noexcept;

  local_device* const home_;
  std::vector<std::unique_ptr<operation[]>> chunks_;
  operation* free_ = nullptr;
  std::size_t in_use_ = 0;
};

}  // namespace weft::comm
