// What HPX's upper layer has between a parcel and its port, for ports that do not send at once ("_i"):
//
//   connection   room for one message, as long as it is made and sent; they are kept in a cache, which has a limit
//   queue        one for each side of a destination: parcels go into the message of its connection, which leaves when it is
//                full, or when a worker has nothing better to do: a task that anybody may take
//
// What one task posts in a row travels together, and a parcel waits for no more than the next free worker.
#pragma once
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "parcel/port.hpp"
#include "remote/gathering.hpp"

namespace weft::detail {

// Room for one message, and what the message refers to. Back in the cache when that has left.
struct parcel_connection : kept_values {
  using room_type = remote::gather_room<8192>;
  class connection_cache* home = nullptr;
  kept_values* inner = nullptr;  // What the chunks of a parcel lie in that travels alone.
  int port = -1;
  std::unique_ptr<room_type> room;  // Made when it is first used.
  // False: there is no room.
  [[nodiscard]] bool try_add(std::span<const std::byte> parcel) {
    if (room == nullptr) room = std::make_unique_for_overwrite<room_type>();
    std::byte* const at = room->try_reserve(parcel.size());
    if (at != nullptr) std::memcpy(at, parcel.data(), parcel.size());
    return at != nullptr;
  }
};

class connection_cache {
 public:
  explicit connection_cache(std::size_t limit) noexcept : limit_(limit) {}
  ~connection_cache();
  connection_cache(const connection_cache&) = delete;
  connection_cache& operator=(const connection_cache&) = delete;

  // Null when all are in use. Called by any worker.
  [[nodiscard]] parcel_connection* try_take();
  void give_back(parcel_connection& one) noexcept;

 private:
  const std::size_t limit_;
  std::mutex lock_;
  std::vector<std::unique_ptr<parcel_connection>> all_;
  std::vector<parcel_connection*> free_;
};

class parcel_queues {
 public:
  // All that it sends goes through `port`, which outlives it. `sides`: queues of each destination.
  parcel_queues(parcelport& port, int process_count, int sides);
  // Puts what is still there back.
  ~parcel_queues();

  // Called by fibers, which may wait for a connection or for room. As parcelport::send().
  bool send(worker& here, outgoing_parcel& what);

 private:
  struct queue;
  [[nodiscard]] queue& queue_for(const worker& here, int process, int port) noexcept;
  [[nodiscard]] parcel_connection& take(worker& here, int process);
  bool send_alone(worker& here, outgoing_parcel& what);
  bool send_message(worker& here, int process, parcel_connection& message);
  static void flush(task& self, bool may_run) noexcept;

  parcelport& port_;
  const int sides_;
  connection_cache cache_;
  std::vector<std::unique_ptr<queue>> queues_;
};

}  // namespace weft::detail
